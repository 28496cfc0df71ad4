/**
 * Receivers over TLS: one that answers, and one that fails, hesitates and hangs up by chance. They
 * believe nothing that is not signed with the secret of its registration.
 */

import type { ServerResponse } from "node:http";
import {
  MemoryReceiverStore,
  type ProposedDelivery,
  proposeDelivery,
  Receiver,
} from "@countersign/sdk";
import {
  type Received,
  startTlsReceiver,
  type TlsReceiver,
} from "../../packages/server/test/support/tls-receiver.ts";
import { type Chance, seeded } from "../simulator/random.ts";
import type { Journal } from "./journal.ts";

export interface Receivers {
  /** PEM, its own root. */
  readonly certificate: string;
  /** Those that fail answer from now on. */
  heal(): void;
  propose(kind: "steady" | "failing"): ProposedDelivery;
}

interface Lifetime {
  after(end: () => Promise<void> | void): void;
}

export async function startReceivers(
  t: Lifetime,
  journal: Journal,
  seed: number,
): Promise<Receivers> {
  const chance = seeded(seed);
  const secrets: Record<string, string> = {};
  // The journal stores the events. A store here would only be one more copy of each.
  const verifier = new Receiver({
    registrations: (id) => secrets[id],
    store: new MemoryReceiverStore(),
    onResolved: () => {},
  });
  let isHealed = false;
  const tls: TlsReceiver = await startTlsReceiver(t, (received, response) => {
    const isFailing = received.path.startsWith("/failing") && !isHealed;
    void answer(received, response, isFailing ? chance : undefined, { verifier, journal });
  });
  return {
    certificate: tls.certificate,
    heal() {
      isHealed = true;
    },
    propose(kind) {
      const proposed = proposeDelivery(tls.url(`/${kind}`));
      secrets[proposed.registrationId] = proposed.signingSecret;
      return proposed;
    },
  };
}

/** Long enough for a kill to come in the midst of it. */
const HESITATION_MS_MAX = 150;

/** @param chance of one that fails */
async function answer(
  received: Received,
  response: ServerResponse,
  chance: Chance | undefined,
  { verifier, journal }: { readonly verifier: Receiver; readonly journal: Journal },
): Promise<void> {
  const text = received.body.toString();
  const message = JSON.parse(text) as Record<string, string>;
  const headers = Object.entries(received.headers).map(([name, value]) => [name, String(value)]);
  const request = new Request("https://localhost/", {
    method: "POST",
    headers: headers as [string, string][],
    body: text,
  });
  if (message.type === "request.resolved") {
    const over = journal.arrived({
      id: String(message.id),
      requestId: String(message.request_id),
      instanceId: String(message.instance_id),
      body: text,
      at: Date.now(),
      decidedAt: Date.parse(String(message.created_at)),
    });
    // The sender may have died while the message was read.
    if (response.closed) over();
    else response.once("close", over);
  }
  if (chance !== undefined) {
    const roll = chance();
    if (roll < 0.1) return void response.destroy();
    if (roll < 0.2) return void response.writeHead(500).end();
    if (roll < 0.25) return void response.writeHead(503, { "retry-after": "1" }).end();
    if (roll < 0.6) await pause(chance() * HESITATION_MS_MAX);
  }
  const reply = await verifier.fetch(request);
  if (reply.status >= 400) journal.violate("I9", `a webhook was refused ${reply.status}: ${text}`);
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
