/**
 * Runs without Node: the core of the SDK, with only the types of the web.
 */

import {
  type Call,
  Client,
  type ConsumptionStore,
  DevelopmentClient,
  Gate,
  MemoryReceiverStore,
  MemoryStore,
  type Outcome,
  Receiver,
} from "@countersign/sdk";

const store: ConsumptionStore = new MemoryStore();

export async function guarded(url: string, token: string, call: Call): Promise<Outcome<string>> {
  const gate = new Gate(new Client(url, token), { store, timeout: "10m" });
  return gate.guard(call, (args) => JSON.stringify(args));
}

export const rehearsal = new Gate(new DevelopmentClient({ outcomes: {} }), { store });

// @ts-expect-error: a gate needs a client; a package without types would let this pass.
export const wrong = () => new Gate("no client", { store });

const receiver = new Receiver({
  registrations: () => undefined,
  store: new MemoryReceiverStore(),
  resumers: {},
});

export const answer = (request: Request): Promise<Response> => receiver.fetch(request);
