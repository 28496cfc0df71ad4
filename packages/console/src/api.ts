/**
 * Exchanges with the reviewer surface, `/review/v1`. Answers are kept as the text that the server
 * wrote: a parser would round the numbers of the arguments, and what a reviewer sees and signs is
 * the text that is stored.
 *
 * Called by: every screen.
 */

import { signInUrl, urlOf } from "./root.ts";

interface WireError {
  readonly code?: string;
  readonly message?: string;
  readonly param?: string;
}

/** A refusal of the server in its own words, or that nothing answered (`status` 0). */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** The member of the body that it is about. */
  readonly param: string | undefined;

  constructor(status: number, { code, message, param }: WireError) {
    super(message ?? "The server cannot be reached. Try again in a moment.");
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.param = param;
  }

  /** Whether the server may have done it all the same. */
  get isUnanswered(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

export interface CallOptions {
  readonly body?: unknown;
  /** Milliseconds until an answer that has not come is given up. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Asked for by the page and not by a person: it keeps no session from ending. */
  readonly isBackground?: boolean;
}

const TIMEOUT_MS = 15_000;

/**
 * The text of an answer, as the server wrote it.
 *
 * @param path behind `/review/v1/`
 * @throws Refusal
 */
export async function callSource(
  method: string,
  path: string,
  { body, timeoutMs = TIMEOUT_MS, signal, isBackground = false }: CallOptions = {},
): Promise<string> {
  const limit = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let source: string;
  try {
    response = await fetch(urlOf(`review/v1/${path}`), {
      method,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(isBackground && { "countersign-background": "1" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    source = await response.text();
  } catch {
    signal?.throwIfAborted();
    throw new Refusal(0, {});
  }
  if (response.ok) return source;
  // Nobody is signed in any more: the sign-in page leads back here.
  if (response.status === 401) location.assign(signInUrl());
  throw new Refusal(response.status, errorIn(source));
}

/**
 * An answer whose numbers are all small, parsed. Never for arguments of calls: see
 * {@link callSource}.
 *
 * @throws Refusal
 */
export async function call<T>(method: string, path: string, options?: CallOptions): Promise<T> {
  const source = await callSource(method, path, options);
  return (source === "" ? {} : JSON.parse(source)) as T;
}

/** What stands between may answer something else than JSON. */
function errorIn(source: string): WireError {
  try {
    return (JSON.parse(source) as { error?: WireError })?.error ?? {};
  } catch {
    return {};
  }
}
