/**
 * Runs without Node: the core of the SDK, with only the types of the web.
 */

import {
  type ConsumptionStore,
  Countersign,
  DevelopmentProvider,
  MemoryReceiverStore,
  MemoryStore,
  Receiver,
  type Result,
  type ToolCall,
} from "@countersign/sdk";

const store: ConsumptionStore = new MemoryStore();

export async function run(url: string, apiKey: string, call: ToolCall): Promise<Result<string>> {
  const approvals = new Countersign({ url, apiKey, store, timeout: "10m" });
  return approvals.run(call, (args) => JSON.stringify(args));
}

export const rehearsal = new Countersign({ provider: new DevelopmentProvider({ outcomes: {} }) });

// @ts-expect-error: a duration needs a unit; a package without types would let this pass.
export const wrong = () => new Countersign({ timeout: "10" });

const receiver = new Receiver({
  registrations: () => undefined,
  store: new MemoryReceiverStore(),
  onResolved: () => {},
});

export const answer = (request: Request): Promise<Response> => receiver.fetch(request);
