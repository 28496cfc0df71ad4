/**
 * One provider over HTTP, byte for byte: nothing is followed, decoded, merged or repaired, so that
 * what the provider really sent can be judged.
 */

import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

export interface RawCall {
  readonly method: string;
  /** Behind the base address, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name, every value as it was sent. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Uint8Array;
}

/** The provider did not answer; the message says in what way. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** It did not refuse the connection or cut it: it was not heard of within the time. */
  readonly isTimeout: boolean;

  constructor(message: string, isTimeout: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isTimeout = isTimeout;
  }
}

/** An answer beyond it is not read to its end. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

export class Connection {
  readonly #base: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #ca: string | undefined;

  /** @throws TypeError when the base address is not an HTTP URL */
  constructor(baseUrl: string, ca?: string) {
    this.#base = new URL(baseUrl.replace(/\/+$/, ""));
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError("no http or https URL");
    this.#ca = ca;
    const options = { keepAlive: true, maxSockets: 256 };
    this.#agent = this.#isTls ? new HttpsAgent(options) : new HttpAgent(options);
  }

  get #isTls(): boolean {
    return this.#base.protocol === "https:";
  }

  /** @throws NoAnswer, or the signal's reason */
  async exchange(call: RawCall, boundMs: number, signal: AbortSignal): Promise<RawAnswer> {
    const bound = AbortSignal.timeout(boundMs);
    const either = AbortSignal.any([bound, signal]);
    try {
      // A server may close an idle connection at the moment in which it is used again.
      return await this.#exchange(call, either, true).catch((error: unknown) => {
        if (!(error instanceof StaleConnection)) throw error;
        return this.#exchange(call, either, false);
      });
    } catch (error) {
      signal.throwIfAborted();
      const what = `${call.method} ${call.path.split("?")[0]}`;
      if (bound.aborted) {
        throw new NoAnswer(`${what} was not answered within ${boundMs / 1000} s`, true);
      }
      const reason = error instanceof Error ? error.message : String(error);
      throw new NoAnswer(`${what} was not answered: ${reason}`, false, { cause: error });
    }
  }

  /**
   * Sends a call and hangs up once it has left, as one whose answer is lost on its way.
   *
   * @param lingerMs between the last byte and the end of the connection
   */
  async sendAndHangUp(call: RawCall, lingerMs: number, signal: AbortSignal): Promise<void> {
    // On a connection of its own: no other answer is lost with it.
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = this.#open(call, signal, false);
    request.once("error", reject);
    request.once("response", (response) => {
      response.resume();
      resolve();
    });
    request.end(call.body, () => setTimeout(resolve, lingerMs));
    try {
      await promise;
    } finally {
      request.off("error", reject).on("error", () => {});
      request.destroy();
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(call: RawCall, signal: AbortSignal, shared: boolean): Promise<RawAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    const request = this.#open(call, signal, shared);
    let hasStarted = false;
    request.once("error", (error) => {
      const isStale = request.reusedSocket && !hasStarted && !signal.aborted;
      reject(isStale ? new StaleConnection(error.message) : error);
    });
    request.once("response", (response) => {
      hasStarted = true;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > BODY_BYTES_MAX) request.destroy(new Error("the answer does not end"));
        chunks.push(chunk);
      });
      response.once("error", reject);
      response.once("end", () => {
        const { statusCode = 0, rawHeaders } = response;
        const body = Buffer.concat(chunks);
        resolve({ status: statusCode, headers: readHeaders(rawHeaders), body });
      });
    });
    request.end(call.body);
    return promise;
  }

  #open({ method, path, headers, body }: RawCall, signal: AbortSignal, shared: boolean) {
    const { protocol, hostname, port, pathname } = this.#base;
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    const options = {
      protocol,
      port,
      method,
      signal,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      path: pathname.replace(/\/$/, "") + path,
      headers: { ...headers, ...(length !== undefined && { "content-length": length }) },
      agent: shared ? this.#agent : false,
      ...(this.#ca !== undefined && { ca: this.#ca }),
    } as const;
    const request: ClientRequest = this.#isTls ? httpsRequest(options) : httpRequest(options);
    return request;
  }
}

/** A connection that was kept, and that the other side had given up. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

function readHeaders(raw: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name = "", value = ""] = raw.slice(at, at + 2);
    const values = headers.get(name.toLowerCase()) ?? [];
    headers.set(name.toLowerCase(), [...values, value]);
  }
  return headers;
}
