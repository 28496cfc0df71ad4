/**
 * Exchanges with a provider: one attempt at a time, with limits for time and size. The connection
 * retries with the same key when an answer is lost.
 *
 * Promises: it follows no redirect, accepts only JSON answers with the expected status, and puts
 * the token in no error.
 */

import type { JsonValue } from "@countersign/protocol";
import { type Operation, Problem, parseIdentifier, parseJsonBytes } from "@countersign/protocol";
import type { ApiKeySource } from "./api-key.ts";
import { readBaseUrl, readToken } from "./base-url.ts";
import { readBody, TooLarge } from "./body.ts";
import { readBound } from "./bounds.ts";
import { abortable, systemTiming, type Timing } from "./clock.ts";
import { type Duration, readDuration } from "./duration.ts";
import { SdkError } from "./errors.ts";
import { causeOf, isForbidden, isNetworkError, isRefused } from "./network-error.ts";
import { readRefusal } from "./refusal.ts";
import { activeTraceparent, validTraceparent } from "./trace-context.ts";

/** How a client reaches its provider. */
export interface ConnectionOptions {
  /** Base URL of the provider. It may have a path. */
  readonly url: string;
  /** The bearer token, or a function that returns it. */
  readonly apiKey: string | ApiKeySource;
  /** Replaces the runtime's `fetch`, for proxies and tests. */
  readonly fetch?: typeof fetch | undefined;
  /** Clocks, timers and randomness. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
  /** Time limit of one attempt, from the request to the last byte. Default: `35s`. */
  readonly attemptTimeout?: Duration | undefined;
  /**
   * Time limit of one operation with all its retries. Default: `60s`. With the default, an
   * operation fails at once if the first connection is refused, and after `10s` if the provider
   * becomes unreachable later.
   */
  readonly retryFor?: Duration | undefined;
  /** Size limit of one answer, bytes. Default: 8,388,608 (8 MiB). */
  readonly maxAnswerBytes?: number | undefined;
}

/** The names of the options, without the token. */
export const CONNECTION_OPTIONS = [
  "url",
  "fetch",
  "timing",
  "attemptTimeout",
  "retryFor",
  "maxAnswerBytes",
] as const;

/** Options of every operation of a provider. */
export interface OperationOptions {
  /** Aborts the operation. The operation rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of this operation with all its retries. Default: `retryFor` of the client. */
  readonly retryFor?: Duration | undefined;
  /** Receives the error of each failed attempt that is followed by another one. */
  readonly onRetry?: ((error: SdkError) => void) | undefined;
}

export interface Order extends OperationOptions {
  /** Replaces `:id` in the path. */
  readonly id?: string;
  /** Starts with the question mark. */
  readonly query?: string;
  readonly body?: string;
  readonly key?: string;
  /** Replaces the trace of the application. An invalid one is ignored. */
  readonly traceparent?: string | undefined;
  /** Receives the headers of the final answer. */
  readonly onHeaders?: (headers: Headers) => void;
  /** A secret in the body. The connection removes it from error messages. */
  readonly secret?: string;
}

const ATTEMPT_MS = 35_000;
const RETRY_MS = 60_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** An operation of the contract, or of an extension. */
export type Target = Pick<Operation, "method" | "path" | "success">;

/** Shorter than a typical agent timeout of one minute, so that a wrong port is reported. */
const UNREACHABLE_MS = 10_000;

/** How long an earlier time of the provider is ignored. */
const EARLIER_DATE_MS_MIN = 60_000;

const SECRET_CHARS_MIN = 8;

/** Time for the last attempt, or a tenth of a time limit below 10 s. */
const ATTEMPT_MS_MIN = 1_000;

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 2_000;

/** A failure after which the connection retries the same exchange. */
class Lost extends Error {
  readonly error: SdkError;
  /** How the connection failed, if it failed. Then the provider received nothing. */
  readonly failure: "refused" | "unreachable" | undefined;

  constructor(error: SdkError, failure?: "refused" | "unreachable") {
    super();
    this.error = error;
    this.failure = failure;
  }
}

/** The provider answered 401. The connection retries once if it gets another key. */
class RefusedKey extends Error {
  readonly error: SdkError;
  readonly key: string;

  constructor(error: SdkError, key: string) {
    super();
    this.error = error;
    this.key = key;
  }
}

/** The function of the program did not return a key. */
class KeyFailure extends Error {
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super();
    this.cause = cause;
  }
}

/** A key that is only unavailable now is worth another attempt. */
function reasonOf(error: RefusedKey | KeyFailure): unknown {
  if (error instanceof RefusedKey) return error;
  const { cause } = error;
  return cause instanceof SdkError && cause.code === "unavailable" ? new Lost(cause) : cause;
}

export class Connection {
  readonly url: string;
  readonly timing: Timing;
  readonly #apiKey: ApiKeySource;
  /** True when the key can change. */
  readonly #isRenewable: boolean;
  /** The last keys, which error messages must not contain. */
  #usedKeys: readonly string[] = [];
  readonly #fetch: typeof fetch;
  readonly #isOwnFetch: boolean;
  readonly #attemptMs: number;
  /** Undefined for the default, which depends on the failure. */
  readonly #retryMs: number | undefined;
  readonly #answerBytesMax: number;
  #hasAnswered = false;
  #latestDate: { readonly ms: number; readonly receivedAt: number } | undefined;

  /** @throws SdkError `invalid_option` */
  constructor(options: ConnectionOptions) {
    this.url = readBaseUrl(options.url);
    this.timing = options.timing ?? systemTiming;
    const { apiKey } = options;
    this.#isRenewable = typeof apiKey === "function";
    const fixed = typeof apiKey === "function" ? "" : readToken("API key", apiKey);
    this.#apiKey = typeof apiKey === "function" ? apiKey : () => fixed;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#isOwnFetch = options.fetch === undefined;
    this.#attemptMs = readDuration("attemptTimeout", options.attemptTimeout, ATTEMPT_MS);
    const { retryFor } = options;
    this.#retryMs = retryFor === undefined ? undefined : readDuration("retryFor", retryFor, 0);
    this.#answerBytesMax = readBound("maxAnswerBytes", options.maxAnswerBytes, ANSWER_BYTES_MAX);
  }

  /** Time of the provider's clock, epoch ms, accurate to 1 s; undefined before its first answer. */
  providerNow(): number | undefined {
    if (this.#latestDate === undefined) return undefined;
    const { ms, receivedAt } = this.#latestDate;
    return ms + this.timing.monotonic() - receivedAt;
  }

  /**
   * @returns the body of the answer; undefined for 204
   * @throws SdkError, the signal's reason, or an error of a custom `fetch` that is not a network
   *   error
   */
  async exchange(operation: Target, order: Order): Promise<JsonValue | undefined> {
    const { timing } = this;
    const { retryFor } = order;
    const explicitMs =
      retryFor === undefined ? this.#retryMs : readDuration("retryFor", retryFor, RETRY_MS);
    const retryMs = explicitMs ?? RETRY_MS;
    const startedAt = timing.monotonic();
    let unreachableSince: number | undefined;
    let refused: RefusedKey | undefined;
    for (let attempt = 0; ; attempt++) {
      order.signal?.throwIfAborted();
      const leftMs = startedAt + retryMs - timing.monotonic();
      try {
        const timeoutMs = Math.min(this.#attemptMs, leftMs);
        return await this.#once(operation, order, timeoutMs, refused);
      } catch (error) {
        if (error instanceof RefusedKey && refused === undefined && this.#isRenewable) {
          refused = error;
          continue;
        }
        if (error instanceof RefusedKey) throw error.error;
        if (!(error instanceof Lost)) throw error;
        const pauseMs = Math.max(this.#backoffMs(attempt), error.error.retryAfterMs ?? 0);
        const now = timing.monotonic();
        unreachableSince = error.failure === undefined ? undefined : (unreachableSince ?? now);
        const limitMs = explicitMs === undefined ? this.#unreachableLimitMs(error) : retryMs;
        const giveUpAt = Math.min(startedAt + retryMs, (unreachableSince ?? now) + limitMs);
        // A shorter attempt would end before an answer, and hide the cause of this failure.
        const attemptMsMin = Math.min(ATTEMPT_MS_MIN, (giveUpAt - startedAt) / 10);
        if (now + pauseMs + attemptMsMin > giveUpAt) throw error.error;
        order.onRetry?.(error.error);
        await timing.sleep(pauseMs, order.signal);
      }
    }
  }

  /** How long the provider may be unreachable without an explicit `retryFor`. */
  #unreachableLimitMs({ failure }: Lost): number {
    if (failure === undefined) return RETRY_MS;
    // Before the first answer, a refused connection is probably a wrong port or a stopped server.
    return failure === "refused" && !this.#hasAnswered ? 0 : UNREACHABLE_MS;
  }

  /** Doubles from 100 ms to 2 s, with up to 50 % random jitter, so that clients spread out. */
  #backoffMs(attempt: number): number {
    const ms = BACKOFF_MS_MIN * 2 ** Math.min(attempt, 10) * (1 + this.timing.random() / 2);
    return Math.min(ms, BACKOFF_MS_MAX);
  }

  /**
   * One attempt.
   *
   * @param refused the key of the previous attempt
   * @throws Lost, RefusedKey, SdkError, the signal's reason, or an error of a custom `fetch`
   */
  async #once(operation: Target, order: Order, timeoutMs: number, refused: RefusedKey | undefined) {
    const { signal } = order;
    const ended = new AbortController();
    const abort = () => ended.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const cancelTimer = this.timing.after(Math.max(1, timeoutMs), () => ended.abort());
    try {
      const key = await abortable(this.#currentKey(refused), ended.signal);
      // A fetch that ignores the signal must not block the caller either.
      const sent = this.#send(operation, order, key, ended.signal);
      const response = await abortable(sent, ended.signal);
      this.#hasAnswered = true;
      this.#noteDate(response);
      const answer = await this.#read(operation, response, order, key, ended.signal);
      order.onHeaders?.(response.headers);
      return answer;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Lost || error instanceof SdkError) throw error;
      if (error instanceof RefusedKey || error instanceof KeyFailure) throw reasonOf(error);
      throw this.#lost(error, order, ended.signal.aborted ? timeoutMs : undefined);
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
      // Discards the unread rest of the answer.
      ended.abort();
    }
  }

  /** @param timedOutMs undefined when the exchange failed before its time limit */
  #lost(error: unknown, { key: idempotencyKey }: Order, timedOutMs: number | undefined): unknown {
    if (timedOutMs !== undefined) {
      const seconds = Math.max(0.1, Math.round(timedOutMs / 100) / 10);
      const message = `The provider at ${this.url} did not answer within ${seconds} s.`;
      return new Lost(new SdkError("unavailable", this.#redact(message), { idempotencyKey }));
    }
    if (isForbidden(error)) {
      const { host } = new URL(this.url);
      const message = `This program has no permission to connect to ${host}.`;
      const fix = `Start Deno with --allow-net=${host}.`;
      return new SdkError("unavailable", this.#redact(`${message} ${fix}`), { idempotencyKey });
    }
    if (!this.#isOwnFetch && !isNetworkError(error)) return error;
    const message =
      `The provider at ${this.url} could not be reached (${causeOf(error)}). ` +
      "Check the base URL and the network.";
    // An error of a custom fetch may contain the headers of the exchange, with the token.
    const cause = this.#isOwnFetch ? error : undefined;
    const failure = isRefused(error) ? "refused" : "unreachable";
    const detail = { idempotencyKey, cause };
    return new Lost(new SdkError("unavailable", this.#redact(message), detail), failure);
  }

  /**
   * Another replica may be behind. Then an expired approval must not become valid, so an earlier
   * time counts only after a minute. A wrong time does not stay for longer.
   */
  #noteDate({ status, headers }: Response): void {
    const ms = Date.parse(headers.get("date") ?? "");
    // A proxy answers in place of an unreachable provider.
    if (Number.isNaN(ms) || status >= 500) return;
    const now = this.timing.monotonic();
    const isEarlier = ms < (this.providerNow() ?? ms);
    const ageMs = now - (this.#latestDate?.receivedAt ?? now);
    if (isEarlier && ageMs < EARLIER_DATE_MS_MIN) return;
    this.#latestDate = { ms, receivedAt: now };
  }

  /** @throws KeyFailure; RefusedKey if the key did not change */
  async #currentKey(refused: RefusedKey | undefined): Promise<string> {
    let key: string;
    try {
      key = readToken("API key", await this.#apiKey({ refused: refused?.key }));
    } catch (error) {
      throw new KeyFailure(error);
    }
    if (key === refused?.key) throw refused;
    if (!this.#usedKeys.includes(key)) this.#usedKeys = [key, ...this.#usedKeys].slice(0, 2);
    return key;
  }

  #send(
    { method, path }: Target,
    order: Order,
    apiKey: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const { id = "", query = "", key, body } = order;
    const traceparent = validTraceparent(order.traceparent) ?? activeTraceparent();
    return this.#fetch(this.url + path.replace(":id", encodeURIComponent(id)) + query, {
      method,
      redirect: "manual",
      signal,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${apiKey}`,
        ...(key !== undefined && { "idempotency-key": key }),
        ...(traceparent !== undefined && { traceparent }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body }),
    });
  }

  async #read(
    { success }: Target,
    response: Response,
    order: Order,
    apiKey: string,
    signal: AbortSignal,
  ) {
    const { status } = response;
    const exchangeId = parseIdentifier(response.headers.get("x-request-id") ?? "");
    const detail = { status, exchangeId, idempotencyKey: order.key };
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const message = "The provider answered with a redirect. Redirects are not followed, to ";
      const advice = "protect the token. Correct the base URL.";
      throw new SdkError("redirected", message + advice, detail);
    }
    if (status >= 400) {
      const redact = (text: string) => this.#redact(text, order.secret);
      const refusal = await readRefusal(response, signal, { now: this.timing.now(), redact });
      const { message, isLost, ...rest } = refusal;
      const code = isLost ? "unavailable" : "refused";
      const error = new SdkError(code, message, { ...detail, ...rest });
      if (status === 401) throw new RefusedKey(error, apiKey);
      throw isLost ? new Lost(error) : error;
    }
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
        const param = error.param && this.#redact(error.param, order.secret);
        throw invalidAnswer(this.#redact(error.message, order.secret), { ...detail, param });
      }
      throw error;
    }
  }

  /** A provider may echo secrets. Strings below the minimum length match ordinary words. */
  #redact(text: string, secret = ""): string {
    const secrets = [...this.#usedKeys, secret].filter(({ length }) => length >= SECRET_CHARS_MIN);
    return secrets.reduce((redacted, each) => redacted.replaceAll(each, "[secret]"), text);
  }
}

/** @param what the violation: the end of the sentence, or a sentence */
export function invalidAnswer(what: string, detail: object = {}): SdkError {
  const message = `The provider's response violates the contract and was rejected: ${what}`;
  return new SdkError("invalid_answer", message.replace(/\.?$/, "."), detail);
}

function isJson(contentType: string | null): boolean {
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType ?? "");
}
