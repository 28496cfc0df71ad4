/**
 * A keep-alive HTTP/1.1 connection with one exchange in flight. It reads the status and the
 * length of an answer and nothing else: the load generator shares its cores with the server, so
 * whatever it does is taken from what it measures.
 */

import { createConnection, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** Bytes of the body; valid only until the next answer. */
  readonly body: Buffer;
}

type Settle = (answer: Answer) => void;

export class Connection {
  readonly #socket: Socket;
  #settle: Settle | undefined;
  #fail: ((error: Error) => void) | undefined;
  /** An answer that has arrived in part. */
  #partial: Buffer | undefined;

  /**
   * @param source loopback address to connect from, when the usual one has too few ports; a port
   *   of a chosen address is not used again until its last connection is long gone
   */
  static open(port: number, source?: string): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, noDelay: true };
      const chosen = source === undefined ? options : { ...options, localAddress: source };
      const socket = createConnection(chosen);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new Connection(socket));
      });
    });
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the server closed a connection")));
  }

  /**
   * @param request a whole request in characters of one byte
   * @param fail called when the connection ends instead
   */
  send(request: string, settle: Settle, fail: (error: Error) => void): void {
    if (this.#settle !== undefined) throw new Error("an exchange is in flight already");
    this.#settle = settle;
    this.#fail = fail;
    this.#socket.write(request, "latin1");
  }

  exchange(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => this.send(request, resolve, reject));
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#partial === undefined ? chunk : Buffer.concat([this.#partial, chunk]);
    const headEnd = bytes.indexOf("\r\n\r\n");
    const head = headEnd < 0 ? "" : bytes.toString("latin1", 0, headEnd);
    const bodyStart = headEnd + 4;
    const bodyEnd = bodyStart + contentLength(head);
    if (headEnd < 0 || bytes.length < bodyEnd) {
      this.#partial = bytes;
      return;
    }
    this.#partial = undefined;
    const settle = this.#settle;
    this.#settle = undefined;
    if (settle === undefined || bytes.length > bodyEnd) {
      this.#end(new Error("the server sent more than one answer"));
      return;
    }
    settle({ status: Number(head.slice(9, 12)), body: bytes.subarray(bodyStart, bodyEnd) });
  }

  #end(error: Error): void {
    const fail = this.#fail;
    this.#fail = undefined;
    this.#settle = undefined;
    this.#socket.destroy();
    fail?.(error);
  }
}

const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

function contentLength(head: string): number {
  return Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
}

export async function openConnections(port: number, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(port)));
}

/** @throws Error when an answer has another status of HTTP, or of the request in it */
export function expectAnswer({ status, body }: Answer, expected: number, state: string): void {
  if (status === expected && body.includes(`"status":"${state}"`)) return;
  throw new Error(`expected ${expected} with ${state}, got ${status}: ${body.toString("utf8")}`);
}
