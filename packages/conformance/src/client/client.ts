/**
 * The seven operations of a provider, each answer checked. What a scenario is about is left to it;
 * what holds for every answer is judged here.
 */

import { OPERATIONS, type OperationName } from "@countersign/protocol";
import { pause } from "../clock.ts";
import { type Answer, checkAnswer, checkHeaders, type Ledger } from "./check-answer.ts";
import type { Connection, RawAnswer, RawCall } from "./connection.ts";

export interface Call {
  /** Of the resource in the path. */
  readonly id?: string;
  readonly token?: string;
  readonly key?: string;
  /** Texts and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** With its question mark. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the time in which anything is answered. */
  readonly boundMs?: number;
}

/** How often a call is retried after a Retry-After. */
const REPEATS_MAX = 20;

export class Client {
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #boundMs: number;
  readonly #signal: AbortSignal;

  constructor(connection: Connection, ledger: Ledger, boundMs: number, signal: AbortSignal) {
    this.#connection = connection;
    this.#ledger = ledger;
    this.#boundMs = boundMs;
    this.#signal = signal;
  }

  /** @throws Violation, NoAnswer */
  async call(operation: OperationName, call: Call): Promise<Answer> {
    const raw = await this.#patiently(toRaw(operation, call), call.boundMs ?? this.#boundMs);
    return checkAnswer(operation, raw, this.#ledger, sentence(operation, call));
  }

  /** For bodies that the scenario reads by itself: no more than the headers are checked. */
  async callRaw(operation: OperationName, call: Call): Promise<RawAnswer> {
    const raw = await this.#patiently(toRaw(operation, call), call.boundMs ?? this.#boundMs);
    checkHeaders(raw, this.#ledger, `${sentence(operation, call)} answered ${raw.status}`);
    return raw;
  }

  /** Anything at all, unchecked. */
  async exchange(call: RawCall): Promise<RawAnswer> {
    return this.#patiently(call, this.#boundMs);
  }

  /** Simulates a client that loses the answer. */
  async sendAndHangUp(operation: OperationName, call: Call, lingerMs: number): Promise<void> {
    await this.#connection.sendAndHangUp(toRaw(operation, call), lingerMs, this.#signal);
  }

  /** A provider may request a later retry with `Retry-After`. It is not a failure. */
  async #patiently(raw: RawCall, boundMs: number): Promise<RawAnswer> {
    for (let repeats = 0; ; repeats++) {
      const answer = await this.#connection.exchange(raw, boundMs, this.#signal);
      const [retryAfter] = answer.headers.get("retry-after") ?? [];
      const isLater = answer.status === 429 || answer.status === 503;
      if (!isLater || retryAfter === undefined || repeats === REPEATS_MAX) return answer;
      // The answer check reports a value that is neither seconds nor a date.
      if (!/^\d+$/.test(retryAfter) && Number.isNaN(Date.parse(retryAfter))) return answer;
      const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : 1;
      await pause(Math.max(seconds * 1000, 100), this.#signal);
    }
  }
}

function toRaw(operation: OperationName, call: Call): RawCall {
  const { method, path } = OPERATIONS[operation];
  const { id = "", token, key, body, query = "", headers } = call;
  return {
    method,
    path: path.replace(":id", encodeURIComponent(id)) + query,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { "idempotency-key": key }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: toBytes(body) }),
  };
}

function toBytes(body: unknown): string | Uint8Array {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  return JSON.stringify(body);
}

function sentence(operation: OperationName, { query = "" }: Call): string {
  const { method, path } = OPERATIONS[operation];
  return `${method} ${path.replace(":id", "{id}")}${query}`;
}
