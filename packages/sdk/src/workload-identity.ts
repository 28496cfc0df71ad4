/**
 * Workload identity: obtains an API key with a token of the platform, and renews it. No secret is
 * stored.
 *
 * @see RFC 8693 (OAuth 2.0 Token Exchange)
 */

import { JsonNumber, JsonObject, type JsonValue, parseJsonBytes } from "@countersign/protocol";
import type { ApiKeySource } from "./api-key.ts";
import { readBaseUrl, readToken } from "./base-url.ts";
import { readBody } from "./body.ts";
import { abortable, systemTiming, type Timing } from "./clock.ts";
import { readUrl } from "./environment.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import { causeOf } from "./network-error.ts";
import { readRetryAfter } from "./refusal.ts";

/** Options of {@link workloadIdentity}. */
export interface WorkloadIdentityOptions {
  /** Base URL of the provider. Default: COUNTERSIGN_URL. */
  readonly url?: string | undefined;
  /** Returns a token of the platform: a JWT for the audience of the provider. */
  readonly subjectToken: () => string | Promise<string>;
  /** Name of the rule at the provider, if several match the token. */
  readonly audience?: string | undefined;
  /** Replaces the runtime's `fetch`, for proxies and tests. */
  readonly fetch?: typeof fetch | undefined;
  /** Clocks and timers. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
}

interface IssuedKey {
  readonly key: string;
  /** Monotonic time, ms. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

const TOKEN_PATH = "/agent/v1/token";

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";

const TOKEN_TYPE = "urn:ietf:params:oauth:token-type:jwt";

const TIMEOUT_MS = 10_000;

const ANSWER_BYTES_MAX = 64 * 1024;

/** Renews a key when this part of its lifetime is left. */
const RENEWAL_SHARE = 0.2;

/** Minimum pause after a failed renewal while the key is valid. */
const RENEWAL_PAUSE_MS = 5_000;

/**
 * Creates a function for the option `apiKey`. It exchanges a token of the platform for a key,
 * renews the key before it expires and after a 401, and sends one exchange at a time.
 *
 * @throws SdkError `invalid_option`
 */
export function workloadIdentity(options: WorkloadIdentityOptions): ApiKeySource {
  const names = ["url", "subjectToken", "audience", "fetch", "timing"];
  assertKnownOptions("workloadIdentity()", options, names);
  if (typeof options.subjectToken !== "function") {
    throw new SdkError("invalid_option", "Invalid subjectToken. Expected a function.");
  }
  const url = readBaseUrl(readUrl(options)) + TOKEN_PATH;
  const { timing = systemTiming } = options;
  let current: IssuedKey | undefined;
  let pending: Promise<IssuedKey> | undefined;

  let retryAt = Number.NEGATIVE_INFINITY;

  async function renew(): Promise<IssuedKey> {
    try {
      current = await exchange(url, options, timing);
      return current;
    } catch (error) {
      const waitMs = error instanceof SdkError ? (error.retryAfterMs ?? 0) : 0;
      retryAt = timing.monotonic() + Math.max(RENEWAL_PAUSE_MS, waitMs);
      throw error;
    } finally {
      pending = undefined;
    }
  }

  function share(): Promise<IssuedKey> {
    pending ??= renew();
    return pending;
  }

  return async ({ refused }) => {
    const known = current?.key === refused ? undefined : current;
    const now = timing.monotonic();
    if (known === undefined || now >= known.expiresAt) return (await share()).key;
    if (now >= known.renewAt && now >= retryAt) {
      // No call waits for a renewal while its key is valid. A later one retries a failed renewal.
      share().catch(() => {});
    }
    return known.key;
  };
}

async function exchange(
  url: string,
  { subjectToken, audience, fetch: send = fetch }: WorkloadIdentityOptions,
  timing: Timing,
): Promise<IssuedKey> {
  const token = readToken("subject token", await waitFor(subjectToken, timing));
  const form = new URLSearchParams({
    grant_type: GRANT_TYPE,
    subject_token: token,
    subject_token_type: TOKEN_TYPE,
  });
  if (audience !== undefined) form.set("audience", audience);
  const startedAt = timing.monotonic();
  const headers = {
    accept: "application/json",
    "content-type": "application/x-www-form-urlencoded",
  };
  const init = { method: "POST", redirect: "manual", headers, body: form.toString() } as const;
  const answer = await request(url, init, send, timing);
  const redact = (text: string) => text.replaceAll(token, "[secret]");
  if (answer.status !== 200) throw refusalOf(answer, redact);
  const key = textOf(answer.body, "access_token");
  const seconds = numberOf(answer.body, "expires_in");
  if (key === undefined || !(seconds > 0)) {
    throw new SdkError("invalid_answer", `The answer of ${url} has no access_token.`);
  }
  const lifetimeMs = seconds * 1_000;
  return {
    key: readToken("access_token", key),
    renewAt: startedAt + lifetimeMs * (1 - RENEWAL_SHARE),
    expiresAt: startedAt + lifetimeMs,
  };
}

/** @throws SdkError `unavailable` when the platform returns no token in time */
async function waitFor(
  subjectToken: WorkloadIdentityOptions["subjectToken"],
  timing: Timing,
): Promise<string> {
  const ended = new AbortController();
  const cancelTimer = timing.after(TIMEOUT_MS, () => ended.abort());
  try {
    return await abortable(Promise.resolve(subjectToken()), ended.signal);
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    const message = `The platform returned no subject token within ${TIMEOUT_MS / 1_000} s.`;
    throw new SdkError("unavailable", message);
  } finally {
    cancelTimer();
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** Null for a body that is not JSON. */
  readonly body: JsonValue;
}

/** @throws SdkError `unavailable` without an answer */
async function request(
  url: string,
  init: RequestInit,
  send: typeof fetch,
  timing: Timing,
): Promise<Answer> {
  const ended = new AbortController();
  const cancelTimer = timing.after(TIMEOUT_MS, () => ended.abort());
  try {
    const sent = send(url, { ...init, signal: ended.signal });
    const response = await abortable(sent, ended.signal);
    const bytes = await readBody(response, ANSWER_BYTES_MAX, ended.signal);
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      retryAfterMs: readRetryAfter(retryAfter, timing.now()),
      body: parse(bytes),
    };
  } catch (error) {
    const cause = ended.signal.aborted
      ? `no answer within ${TIMEOUT_MS / 1_000} s`
      : causeOf(error);
    throw new SdkError("unavailable", `Could not exchange the token at ${url} (${cause}).`);
  } finally {
    cancelTimer();
    ended.abort();
  }
}

function parse(bytes: Uint8Array): JsonValue {
  try {
    return parseJsonBytes(bytes);
  } catch {
    return null;
  }
}

function refusalOf(answer: Answer, redact: (text: string) => string): SdkError {
  const { status, retryAfterMs, body } = answer;
  const detail = { status, retryAfterMs };
  if (status === 429 || status >= 500) {
    const message = `The provider cannot exchange the token now (${status}). Try again later.`;
    return new SdkError("unavailable", message, detail);
  }
  if (status === 404) {
    const message = "The provider has no workload identity. Set workload_identity at the server.";
    return new SdkError("unsupported", message, detail);
  }
  const said = textOf(body, "error_description") ?? textOf(body, "error") ?? `status ${status}`;
  const message = `The provider did not exchange the token: ${redact(said).slice(0, 500)}`;
  return new SdkError("refused", message, detail);
}

function textOf(body: JsonValue, name: string): string | undefined {
  const value = body instanceof JsonObject ? body.members.get(name) : undefined;
  return typeof value === "string" ? value : undefined;
}

function numberOf(body: JsonValue, name: string): number {
  const value = body instanceof JsonObject ? body.members.get(name) : undefined;
  return value instanceof JsonNumber ? Number(value.source) : Number.NaN;
}
