/**
 * The reviewer API as the commands call it: with a token, a limit of time, checked answers, and
 * errors that carry an exit code.
 */

import { CommandError, EXIT } from "@countersign/command-line";
import type { ProblemFinding } from "@countersign/protocol";
import { isAnswer, isLine, operationAt, parseExact, REVIEW_PATH } from "@countersign/review-api";
import { ReviewClient, type Route, type WireRequest } from "@countersign/review-api/client";

/** Bounds one exchange that is not a stream. */
const EXCHANGE_MS_MAX = 15_000;

/** The most items that the server puts on a page. */
export const PAGE_LIMIT = 200;

export class ReviewerApi extends ReviewClient {
  readonly #origin: string;
  /** The server's time at its last answer, in milliseconds since 1970. */
  now = Number.NaN;

  constructor(url: string, token: string) {
    const base = `${url.replace(/\/+$/, "")}${REVIEW_PATH}`;
    super((request) => this.#send(base, token, request));
    this.#origin = new URL(url).origin;
  }

  async #send(base: string, token: string, request: WireRequest): Promise<Response> {
    const { method, target, headers, body, signal, timeoutMs = EXCHANGE_MS_MAX } = request;
    const interrupted = (error: unknown): never => {
      signal?.throwIfAborted();
      throw this.interrupted(error);
    };
    const signals = signal === undefined ? [] : [signal];
    if (Number.isFinite(timeoutMs)) signals.push(AbortSignal.timeout(timeoutMs));
    const response = await fetch(base + target, {
      method,
      redirect: "error",
      headers: { ...headers, authorization: `Bearer ${token}` },
      signal: AbortSignal.any(signals),
      ...(body !== undefined && { body }),
    }).catch(interrupted);
    // The header has whole seconds. The last millisecond keeps a countdown from being too long.
    const atServer = Date.parse(response.headers.get("date") ?? "") + 999;
    // A proxy may remove the header. Then the local clock is the best estimate.
    this.now = Number.isNaN(atServer) ? Date.now() : atServer;
    if (response.ok) return response;
    const text = await response.text().catch(interrupted);
    throw refusalIn(response.status, text) ?? this.unexpectedAnswer();
  }

  protected override read(route: Route, status: number, text: string): unknown {
    const row = operationAt(route);
    let answer: unknown;
    try {
      answer = super.read(route, status, text);
    } catch {
      throw this.unexpectedAnswer();
    }
    if (row === undefined || !isAnswer(row, status, answer)) throw this.unexpectedAnswer();
    return answer;
  }

  protected override readLine(route: Route, text: string): unknown {
    const row = operationAt(route);
    let line: unknown;
    try {
      line = super.readLine(route, text);
    } catch (error) {
      throw error instanceof CommandError ? error : this.unexpectedAnswer();
    }
    if (row === undefined || !isLine(row, line)) throw this.unexpectedAnswer();
    return line;
  }

  protected override refused(text: string): CommandError {
    return refusalIn(200, text) ?? this.unexpectedAnswer();
  }

  /** The server does not answer as the reviewer API does. */
  unexpectedAnswer(): CommandError {
    const message = `${this.#origin} did not send a Countersign API response; check --url`;
    return new CommandError(EXIT.unreachable, "unreachable", message);
  }

  protected override interrupted(error: unknown): CommandError {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const message = `cannot reach ${this.#origin}: ${reasonOf(cause)}`;
    const advice = "check --url, and that the server runs";
    return new CommandError(EXIT.unreachable, "unreachable", `${message}; ${advice}`);
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as { readonly code?: unknown };
  // The message of OpenSSL has several lines, with addresses and source files.
  if (typeof code === "string" && code.startsWith("ERR_SSL_")) return code;
  return cause.message || cause.name;
}

const ANOTHER_TOKEN =
  " Set COUNTERSIGN_TOKEN to a token from `countersign tokens create reviewer --name NAME`.";

interface WireError {
  readonly code: string;
  readonly message: string;
  readonly findings?: readonly ProblemFinding[];
}

/** @returns undefined when the text is not the error envelope of countersign */
function refusalIn(status: number, text: string): CommandError | undefined {
  const error = errorIn(text);
  if (error === undefined) return undefined;
  const { code, message, findings } = error;
  // A line that ends a stream has the status of the stream.
  const isPassing = status >= 500 || code === "unavailable";
  const exitCode = isPassing ? EXIT.unreachable : EXIT.refused;
  const advice = code === "invalid_credential" ? ANOTHER_TOKEN : "";
  return new CommandError(exitCode, code, message + advice, findings);
}

function errorIn(text: string): WireError | undefined {
  try {
    const { error } = parseExact(text) as { readonly error?: Partial<WireError> };
    if (typeof error?.code !== "string" || typeof error.message !== "string") return undefined;
    return error as WireError;
  } catch {
    return undefined;
  }
}

/** Follows the pages of a listing up to `limit` items. */
export async function collect<Item, Page extends { readonly next: string | number | null }>(
  limit: number,
  fetchPage: (limit: string, after: string | undefined) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<{ readonly items: readonly Item[]; readonly hasMore: boolean }> {
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const page = await fetchPage(String(Math.min(limit - items.length, PAGE_LIMIT)), after);
    items.push(...itemsOf(page));
    after = page.next === null ? undefined : String(page.next);
  } while (after !== undefined && items.length < limit);
  return { items, hasMore: after !== undefined };
}
