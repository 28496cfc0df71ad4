/**
 * The typed client of the reviewer API. It holds no schemas, only their types, so that a browser
 * loads next to nothing for it.
 */

import { parseExact } from "./exact.ts";
import type { AnswerOf, BodySent, LineOf, Operation, PathOf, QuerySent } from "./operation.ts";
import type { ReviewOperations } from "./operations.ts";

type Rows = ReviewOperations[keyof ReviewOperations];

/** Rows by `METHOD /path`. */
export type Routes = {
  [Row in Rows as `${Row["method"]} ${Row["path"]}`]: Row;
};

export type Route = keyof Routes;

type MemberIf<Name extends string, Value> = [Value] extends [undefined]
  ? unknown
  : Record<string, never> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value };

type PathMember<Row extends Operation> = [keyof PathOf<Row>] extends [never]
  ? unknown
  : { readonly path: PathOf<Row> };

/** The input of an operation: parameters of the path, query and body. */
export type Input<Row extends Operation> = PathMember<Row> &
  MemberIf<"query", QuerySent<Row>> &
  MemberIf<"body", BodySent<Row>>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** At most 255 characters; the same key and body create one resource. */
  readonly idempotencyKey?: string | undefined;
  /** Id of the project to act in. [the project of the session or token] */
  readonly project?: string | undefined;
  /** The page calls this by itself: the call does not count as activity of the session. */
  readonly isBackground?: boolean | undefined;
  /** How long to wait for the answer, in milliseconds. [decided by the transport] */
  readonly timeoutMs?: number | undefined;
}

/** A request as the transport sends it. */
export interface WireRequest {
  readonly method: string;
  /** Path below `/review/v1`, with the query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Undefined: the transport's own limit. Infinity, for a stream: no limit. */
  readonly timeoutMs: number | undefined;
}

/**
 * Sends a request, with credentials and a limit of time.
 *
 * @returns the answer, if its status is 2xx
 * @throws the caller's own error for any other answer, or for none
 */
export type Transport = (request: WireRequest) => Promise<Response>;

type Arguments<Row extends Operation> =
  Record<string, never> extends Input<Row>
    ? [input?: Input<Row> & CallOptions]
    : [input: Input<Row> & CallOptions];

interface AnyInput extends CallOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

export class ReviewClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Calls an operation: `call("GET /grants/{id}", { path: { id } })`.
   *
   * @returns the answer as plain values; `exactText` has the exact text of objects in it
   * @throws errors of the transport; `Problem` when the answer is not JSON
   */
  async call<R extends Route>(
    route: R,
    ...[input = {} as never]: Arguments<Routes[R]>
  ): Promise<AnswerOf<Routes[R]>> {
    const response = await this.#transport(requestOf(route, input));
    const text = await this.#text(response, input.signal);
    return this.read(route, response.status, text) as AnswerOf<Routes[R]>;
  }

  async #text(response: Response, signal: AbortSignal | undefined): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      throw this.interrupted(error);
    }
  }

  /** Reads an answer; a client may check it here. */
  protected read(_route: Route, _status: number, text: string): unknown {
    return text === "" ? undefined : parseExact(text);
  }

  /** Calls an operation whose answer is a stream. */
  stream<R extends Route>(
    route: R,
    ...[input = {} as never]: Arguments<Routes[R]>
  ): Promise<Response> {
    return this.#transport({ ...requestOf(route, input), timeoutMs: Number.POSITIVE_INFINITY });
  }

  /**
   * Calls an operation that answers lines of JSON, and yields each line when it arrives.
   *
   * @throws errors of the transport, of {@link refused} and of {@link interrupted}
   */
  async *lines<R extends Route>(
    route: R,
    ...args: Arguments<Routes[R]>
  ): AsyncGenerator<LineOf<Routes[R]>> {
    const { body } = await this.stream(route, ...args);
    const [input] = args;
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      // Not every browser can iterate over a stream.
      for (;;) {
        const { value = "\n", done } = await this.#next(reader, input?.signal);
        const texts = (rest + value).split("\n");
        rest = texts.pop() ?? "";
        for (const text of texts) {
          if (text !== "") yield this.readLine(route, text) as LineOf<Routes[R]>;
        }
        if (done) return;
      }
    } finally {
      // A broken stream rejects this with the error that was thrown already.
      await reader?.cancel().catch(() => {});
    }
  }

  async #next(
    reader: ReadableStreamDefaultReader<string> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly value?: string | undefined; readonly done: boolean }> {
    try {
      return (await reader?.read()) ?? { done: true };
    } catch (error) {
      signal?.throwIfAborted();
      throw this.interrupted(error);
    }
  }

  /** Reads one line of a stream. The last line may be an error envelope. */
  protected readLine(_route: Route, text: string): unknown {
    const line = parseExact(text);
    if ((line as { readonly error?: unknown }).error !== undefined) throw this.refused(text);
    return line;
  }

  /** The error for an error envelope at the end of a stream. */
  protected refused(text: string): Error {
    return new Error(text);
  }

  /** The error for a connection that broke in the middle of an answer. */
  protected interrupted(cause: unknown): Error {
    return new Error("The connection broke.", { cause });
  }
}

function requestOf(route: string, input: AnyInput): WireRequest {
  const [method = "", path = ""] = route.split(" ");
  const { body, query = {}, idempotencyKey, project, isBackground = false } = input;
  const { signal, timeoutMs } = input;
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(pairs as [string, string][]).toString();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(input.path?.[name] ?? ""),
  );
  return {
    method,
    target: search === "" ? filled : `${filled}?${search}`,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(project !== undefined && { "countersign-project": project }),
      ...(isBackground && { "countersign-background": "1" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    timeoutMs,
  };
}
