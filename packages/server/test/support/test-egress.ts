/**
 * The egress client with DNS answers and a clock that belong to the test.
 */

import type { WebhookUrl } from "@countersign/protocol";
import { parseWebhookUrl } from "@countersign/protocol";
import { parseCidr } from "../../src/core/address.ts";
import {
  createEgressClient,
  type EgressClient,
  type EgressOptions,
  type Message,
  type Reply,
} from "../../src/egress/egress-client.ts";
import type { Resolver } from "../../src/egress/resolve-host.ts";
import { ManualClock } from "./manual-clock.ts";
import type { Lifetime } from "./test-provider.ts";
import { PATIENCE_MS } from "./until.ts";

/** An attempt's time as the outbox of webhooks gives it. */
export const ATTEMPT_MS = 9_000;

/** Answers from a table that a test may change at any time, and notes what it was asked. */
export class TableResolver implements Resolver {
  readonly answers: Record<string, readonly string[]>;
  readonly queried: string[] = [];

  constructor(answers: Record<string, readonly string[]> = {}) {
    this.answers = { localhost: ["127.0.0.1"], ...answers };
  }

  async resolve(host: string): Promise<readonly string[]> {
    this.queried.push(host);
    return this.answers[host] ?? [];
  }
}

export interface TestEgressOptions extends Partial<EgressOptions> {
  /** Networks that may be reached although they are not public; 127.0.0.0/8 without it. */
  readonly allow?: readonly string[];
  readonly nat64?: readonly string[];
  readonly answers?: Record<string, readonly string[]>;
}

export interface TestEgress {
  readonly egress: EgressClient;
  readonly clock: ManualClock;
  readonly resolver: TableResolver;
  /** A message with headers and a body that do not matter, unless they are given. */
  post(url: string, message?: Partial<Message>): Promise<Reply>;
}

/** Closed with the test. */
export function openTestEgress(t: Lifetime, options: TestEgressOptions = {}): TestEgress {
  const { allow = ["127.0.0.0/8"], nat64 = [], answers, ...rest } = options;
  const clock = new ManualClock();
  const resolver = new TableResolver(answers);
  const rules = { allow: allow.map(cidr), nat64: nat64.map(cidr) };
  const egress = createEgressClient({ rules, resolver, clock, ...rest });
  t.after(() => egress.close());
  return {
    egress,
    clock,
    resolver,
    post: (url, message = {}) =>
      patiently(egress.post(webhookUrl(url), { ...MESSAGE, ...message }), `the reply of ${url}`),
  };
}

/** A promise that never settles fails the test, because the client's clock may be stopped. */
export async function patiently<T>(promise: Promise<T>, what: string): Promise<T> {
  const { promise: impatience, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`did not come: ${what}`)), PATIENCE_MS);
  return Promise.race([promise, impatience]).finally(() => clearTimeout(timer));
}

const MESSAGE: Message = {
  headers: { "content-type": "application/json" },
  body: Buffer.from("{}"),
  timeoutMs: ATTEMPT_MS,
  responseBytesMax: 0,
  freshConnection: false,
};

export function webhookUrl(text: string): WebhookUrl {
  const url = parseWebhookUrl(text, { internalNames: true });
  if (url === undefined) throw new Error(`${text} is not a webhook URL`);
  return url;
}

function cidr(text: string) {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is not a network`);
  return parsed;
}
