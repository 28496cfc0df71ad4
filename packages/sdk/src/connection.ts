/**
 * Exchanges with a provider: one attempt at a time, bounded in time and size, tried again with the
 * same key when the answer was lost.
 *
 * Promises: follows no redirect; believes no answer that is not JSON of the right status; the token
 * is in no error.
 */

import type { JsonValue } from "@countersign/protocol";
import {
  OPERATIONS,
  type OperationName,
  Problem,
  parseIdentifier,
  parseJsonBytes,
} from "@countersign/protocol";
import { readBaseUrl, readToken } from "./base-url.ts";
import { readBody, TooLarge } from "./body.ts";
import { readBound } from "./bounds.ts";
import { abortable, systemTiming, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";
import { readRefusal } from "./refusal.ts";

export interface ConnectionOptions {
  /** Where the provider is, as its operator says; may have a path. */
  readonly url: string;
  readonly token: string;
  /** In place of the runtime's own, for proxies and tests. */
  readonly fetch?: typeof fetch;
  readonly timing?: Timing;
  /** Of one exchange, from the request to the last byte; 35 s without it. */
  readonly httpTimeoutMs?: number;
  /**
   * For asking again when an answer was lost, in all; 60 s without it. An operation that reaches no
   * provider at all fails after 10 s, unless it has a bound of its own.
   */
  readonly withinMs?: number;
  /** Of one answer; 8 MiB without it. */
  readonly answerBytesMax?: number;
}

/** What every operation can be given. */
export interface OperationOptions {
  /** Ends the operation, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** As in {@link ConnectionOptions}, for this operation. */
  readonly withinMs?: number | undefined;
}

export interface Order extends OperationOptions {
  /** Fills `:id`. */
  readonly id?: string;
  /** With the question mark. */
  readonly query?: string;
  readonly body?: string;
  readonly key?: string;
  /** Is in the body, and in no error. */
  readonly secret?: string;
}

const HTTP_TIMEOUT_MS = 35_000;
const WITHIN_MS = 60_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** A wrong port is reported before an agent's own time-outs, of a minute or so, hide it. */
const UNREACHABLE_MS = 10_000;

const SECRET_CHARS_MIN = 8;

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 2_000;

/** A failure after which the same exchange makes sense again. */
class Lost extends Error {
  readonly error: SdkError;
  /** No provider was reached, so nothing was received. */
  readonly isUnreachable: boolean;

  constructor(error: SdkError, isUnreachable = false) {
    super();
    this.error = error;
    this.isUnreachable = isUnreachable;
  }
}

export class Connection {
  readonly url: string;
  readonly timing: Timing;
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #isOwnFetch: boolean;
  readonly #httpTimeoutMs: number;
  readonly #withinMs: number;
  readonly #answerBytesMax: number;
  #latestDate: { readonly ms: number; readonly receivedAt: number } | undefined;

  /** @throws SdkError `invalid_option` */
  constructor(options: ConnectionOptions) {
    this.url = readBaseUrl(options.url);
    this.timing = options.timing ?? systemTiming;
    this.#token = readToken(options.token);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#isOwnFetch = options.fetch === undefined;
    this.#httpTimeoutMs = readBound("httpTimeoutMs", options.httpTimeoutMs, HTTP_TIMEOUT_MS);
    this.#withinMs = readBound("withinMs", options.withinMs, WITHIN_MS);
    this.#answerBytesMax = readBound("answerBytesMax", options.answerBytesMax, ANSWER_BYTES_MAX);
  }

  /** Epoch ms by the clock of the provider, to a second; undefined before its first answer. */
  providerNow(): number | undefined {
    if (this.#latestDate === undefined) return undefined;
    const { ms, receivedAt } = this.#latestDate;
    return ms + this.timing.monotonic() - receivedAt;
  }

  /**
   * @returns the body of the answer; undefined for 204
   * @throws SdkError; the signal's reason; an error of a program's own `fetch` that is not about
   *   the network
   */
  async exchange(name: OperationName, order: Order): Promise<JsonValue | undefined> {
    const { timing } = this;
    const withinMs = readBound("withinMs", order.withinMs, this.#withinMs);
    const unreachableMs = order.withinMs ?? Math.min(UNREACHABLE_MS, withinMs);
    const startedAt = timing.monotonic();
    for (let attempt = 0; ; attempt++) {
      order.signal?.throwIfAborted();
      const leftMs = startedAt + withinMs - timing.monotonic();
      try {
        return await this.#once(name, order, Math.min(this.#httpTimeoutMs, leftMs));
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        const pauseMs = Math.max(this.#backoffMs(attempt), error.error.retryAfterMs ?? 0);
        const giveUpAt = startedAt + (error.isUnreachable ? unreachableMs : withinMs);
        if (timing.monotonic() + pauseMs >= giveUpAt) throw error.error;
        await timing.sleep(pauseMs, order.signal);
      }
    }
  }

  /** 100 ms, doubling to 2 s; up to half as much by chance, so that not all come at once. */
  #backoffMs(attempt: number): number {
    const ms = BACKOFF_MS_MIN * 2 ** Math.min(attempt, 10) * (1 + this.timing.random() / 2);
    return Math.min(ms, BACKOFF_MS_MAX);
  }

  /** One attempt. @throws Lost, SdkError, the signal's reason, an error of a program's `fetch` */
  async #once(name: OperationName, order: Order, timeoutMs: number) {
    const { signal } = order;
    const ended = new AbortController();
    const abort = () => ended.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const cancelTimer = this.timing.after(Math.max(1, timeoutMs), () => ended.abort());
    try {
      // A fetch that ignores the signal must not block the caller either.
      const sent = this.#send(name, order, ended.signal);
      const response = await abortable(sent, ended.signal);
      this.#noteDate(response.headers.get("date"));
      return await this.#read(name, response, order, ended.signal);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Lost || error instanceof SdkError) throw error;
      throw this.#lost(error, order, ended.signal.aborted ? timeoutMs : undefined);
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
      // Whatever of the answer was not read is not waited for.
      ended.abort();
    }
  }

  /** @param timedOutMs undefined when the exchange failed before its time was over */
  #lost(error: unknown, { key }: Order, timedOutMs: number | undefined): unknown {
    if (timedOutMs !== undefined) {
      const seconds = Math.max(0.1, Math.round(timedOutMs / 100) / 10);
      const message = `The provider at ${this.url} did not answer within ${seconds} s.`;
      return new Lost(new SdkError("unavailable", this.#redact(message), { key }));
    }
    if (!this.#isOwnFetch && !isNetworkError(error)) return error;
    const message =
      `The provider at ${this.url} could not be reached (${causeOf(error)}). ` +
      "Check the base URL and the network.";
    // What a program's own fetch throws may hold the headers of the exchange.
    const cause = this.#isOwnFetch ? error : undefined;
    return new Lost(new SdkError("unavailable", this.#redact(message), { key, cause }), true);
  }

  #noteDate(header: string | null): void {
    const ms = Date.parse(header ?? "");
    if (!Number.isNaN(ms)) this.#latestDate = { ms, receivedAt: this.timing.monotonic() };
  }

  #send(name: OperationName, order: Order, signal: AbortSignal): Promise<Response> {
    const { method, path } = OPERATIONS[name];
    const { id = "", query = "", key, body } = order;
    return this.#fetch(this.url + path.replace(":id", encodeURIComponent(id)) + query, {
      method,
      redirect: "manual",
      signal,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${this.#token}`,
        ...(key !== undefined && { "idempotency-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body }),
    });
  }

  async #read(name: OperationName, response: Response, order: Order, signal: AbortSignal) {
    const { status } = response;
    const exchangeId = parseIdentifier(response.headers.get("x-request-id") ?? "");
    const detail = { status, exchangeId, key: order.key };
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const message = "The provider answered with a redirect. Redirects are not followed, to ";
      const advice = "protect the token. Correct the base URL.";
      throw new SdkError("redirected", message + advice, detail);
    }
    if (status >= 400) {
      const refusal = await readRefusal(response, signal, this.timing.now());
      const { message, isLost, param, ...rest } = refusal;
      const code = isLost ? "unavailable" : "refused";
      const redact = (text: string) => this.#redact(text, order.secret);
      const error = new SdkError(code, redact(message), {
        ...detail,
        ...rest,
        param: param && redact(param),
      });
      throw isLost ? new Lost(error) : error;
    }
    const success: readonly number[] = OPERATIONS[name].success;
    if (!success.includes(status)) throw invalidAnswer(`its status is ${status}`, detail);
    if (status === 204) return undefined;
    if (!isJson(response.headers.get("content-type"))) {
      throw invalidAnswer("it is not application/json", detail);
    }
    try {
      return parseJsonBytes(await readBody(response, this.#answerBytesMax, signal));
    } catch (error) {
      if (error instanceof TooLarge) throw invalidAnswer("it is too large", detail);
      if (error instanceof Problem) {
        throw invalidAnswer(error.message, { ...detail, param: error.param });
      }
      throw error;
    }
  }

  /** A provider may repeat what it was sent. What is this short is no secret, but in every word. */
  #redact(text: string, secret = ""): string {
    const secrets = [this.#token, secret].filter(({ length }) => length >= SECRET_CHARS_MIN);
    return secrets.reduce((redacted, each) => redacted.replaceAll(each, "[secret]"), text);
  }
}

/** @param what completes the sentence, or is one */
export function invalidAnswer(what: string, detail: object = {}): SdkError {
  const message = `The provider's response violates the contract and was rejected: ${what}`;
  return new SdkError("invalid_answer", message.replace(/\.?$/, "."), detail);
}

function isJson(contentType: string | null): boolean {
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType ?? "");
}

/** Of the runtimes, for an error of `fetch` that has no code. */
const NETWORK =
  /fetch failed|failed to fetch|load failed|network|error sending request|terminated/i;

/** Anything else that a program's own `fetch` throws is a defect, which a retry does not fix. */
function isNetworkError(error: unknown): boolean {
  const { code, name, message, cause } = Object(error) as Record<string, unknown>;
  const { code: innerCode } = Object(cause) as Record<string, unknown>;
  if (typeof code === "string" || typeof innerCode === "string") return true;
  if (name === "AbortError" || name === "TimeoutError") return true;
  return error instanceof TypeError && NETWORK.test(String(message));
}

/** The code of what a runtime says was wrong; its message may hold what it likes. */
export function causeOf(error: unknown): string {
  const { code, name, cause } = Object(error) as Record<string, unknown>;
  const inner = Object(cause) as Record<string, unknown>;
  // What fetch itself never asks, and has no code for.
  if (inner.message === "bad port") return "fetch does not allow this port";
  for (const text of [inner.code, code, inner.name, name]) {
    if (typeof text === "string" && /^[\w-]{1,60}$/.test(text)) return text;
  }
  return "unknown";
}
