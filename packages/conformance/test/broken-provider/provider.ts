/**
 * A small provider of the whole contract, in memory, written from the contract alone: it shares no
 * code with Countersign's server. Left alone it conforms; given a fault of the table it breaks one
 * requirement, and the conformance kit has to say so.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CORRECT, type Conduct, type Ledger } from "./conduct.ts";
import { answerExchange } from "./http.ts";
import type { ProviderOptions } from "./ledger.ts";
import { decide } from "./requests.ts";

export interface BrokenProvider {
  readonly url: string;
  readonly provisionerToken: string;
  /** Of another scope. */
  readonly otherProvisionerToken: string;
  /** @returns whether the verdict is the decision now */
  decide(requestId: string, status: "approved" | "denied", note?: string): boolean;
  stop(): Promise<void>;
}

export async function startBrokenProvider(
  options: ProviderOptions = {},
  fault: Partial<Conduct> = {},
): Promise<BrokenProvider> {
  const ledger = openLedger(options, { ...CORRECT, ...fault });
  const server = createServer((request, response) => {
    // A caller that hangs up has no use for an answer.
    answerExchange(ledger, request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const [one, other] = ledger.provisioners;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    provisionerToken: one?.token ?? "",
    otherProvisionerToken: other?.token ?? "",
    decide: (...verdict) => decide(ledger, ...verdict),
    async stop() {
      ledger.closing.abort();
      for (const { timer } of [...ledger.requests.values(), ...ledger.events.values()]) {
        clearTimeout(timer);
      }
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function openLedger(options: ProviderOptions, conduct: Conduct): Ledger {
  const { ca = [], webhooks = true, receiverAddresses = ["127.0.0.1"], ...times } = options;
  const { validityMs = 60_000, attemptMs = 9_000, credentialMs } = times;
  const { backoffMs = 100, backoffMsMax = 3_600_000 } = times;
  return {
    options: {
      ca,
      webhooks,
      receiverAddresses,
      validityMs,
      credentialMs,
      backoffMs,
      backoffMsMax,
      attemptMs,
    },
    conduct,
    provisioners: [
      { token: "provisioner-of-one", project: "one" },
      { token: "provisioner-of-other", project: "other" },
    ],
    instances: new Map(),
    requests: new Map(),
    events: new Map(),
    provisionings: new Map(),
    updates: new Map(),
    submissions: new Map(),
    closing: new AbortController(),
  };
}
