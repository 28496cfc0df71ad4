/**
 * HTTP as bytes on a socket, for what no client library would send.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ErrorResponse } from "@countersign/protocol";
import type { Answer, Lifetime } from "./test-provider.ts";

const HEAD_END = "\r\n\r\n";

export class RawConnection {
  readonly socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]();
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /**
   * The next response.
   *
   * @throws when the server closes before it is complete
   */
  async answer(): Promise<Answer<ErrorResponse>> {
    const { status, headers } = await this.head();
    const length = Number(headers.get("content-length") ?? 0);
    while (this.#received.length < length) await this.#receive();
    const text = this.#take(length);
    const json = (text === "" ? undefined : JSON.parse(text)) as ErrorResponse;
    return { status, headers, text, json };
  }

  /** The next response as far as its headers; all of it where there is no body. */
  async head(): Promise<{ readonly status: number; readonly headers: Headers }> {
    while (!this.#received.includes(HEAD_END)) await this.#receive();
    const head = this.#take(this.#received.indexOf(HEAD_END) + HEAD_END.length);
    const [statusLine = "", ...lines] = head.trimEnd().split("\r\n");
    const pairs = lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    return { status: Number(statusLine.split(" ")[1]), headers: new Headers(pairs) };
  }

  /** The bytes that arrive until the server has ended its side. */
  async rest(): Promise<string> {
    for (;;) {
      const { value, done } = await this.#chunks.next();
      if (done) return this.#take(this.#received.length);
      this.#received = Buffer.concat([this.#received, value]);
    }
  }

  async #receive(): Promise<void> {
    const { value, done } = await this.#chunks.next();
    if (done) throw new Error(`the server closed after ${JSON.stringify(`${this.#received}`)}`);
    this.#received = Buffer.concat([this.#received, value]);
  }

  #take(bytes: number): string {
    const taken = this.#received.toString("utf8", 0, bytes);
    this.#received = this.#received.subarray(bytes);
    return taken;
  }
}

/** A connection to a server, TLS where its URL says so; closed with the test. */
export async function connectRaw(t: Lifetime, url: string, ca?: string): Promise<RawConnection> {
  const { hostname: host, port, protocol } = new URL(url);
  const isTls = protocol === "https:";
  const socket = isTls
    ? connectTls({ host, port: Number(port), ...(ca && { ca }) })
    : connect({ host, port: Number(port), allowHalfOpen: true });
  t.after(() => {
    socket.destroy();
  });
  await once(socket, isTls ? "secureConnect" : "connect");
  return new RawConnection(socket);
}

/** The one answer to these bytes, on a connection of its own. */
export async function answerTo(
  t: Lifetime,
  url: string,
  bytes: string | Uint8Array,
): Promise<Answer<ErrorResponse>> {
  const connection = await connectRaw(t, url);
  connection.send(bytes);
  return connection.answer();
}
