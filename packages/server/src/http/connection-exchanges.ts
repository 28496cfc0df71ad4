/**
 * The unanswered exchanges of each connection. A connection can carry several, and a fault of the
 * connection must not cut off or replace an answer.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Emitted on a response when the client has closed its side of the connection. */
export const CLIENT_ENDED = Symbol("client ended");

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class ConnectionExchanges {
  /** In the order in which they are answered. */
  readonly #open = new WeakMap<Duplex, Set<Exchange>>();
  /** The parser reports an error again for all data after the first one. */
  readonly #closing = new WeakSet<Duplex>();

  constructor(server: Server) {
    server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#add({ request, response });
    });
  }

  /**
   * After a parser error: lets completely received exchanges finish, then closes the connection.
   *
   * @returns false when there are none; the caller may then answer the error
   */
  closeAfterAnswers(socket: Duplex): boolean {
    if (this.#closing.has(socket)) return true;
    const open = [...(this.#open.get(socket) ?? [])];
    const answered = open.filter(({ request, response }) => {
      return request.complete || response.headersSent;
    });
    const last = answered.at(-1)?.response;
    const isStreaming = open.some(
      ({ response }) => response.headersSent && !response.writableEnded,
    );
    if (isStreaming) {
      // The exchange may never end, and nothing may be written into it.
      socket.destroy();
      return true;
    }
    if (last === undefined) return false;
    if (!last.headersSent) last.setHeader("connection", "close");
    this.#closing.add(socket);
    last.once("close", () => socket.end(() => socket.destroy()));
    return true;
  }

  #add(exchange: Exchange): void {
    const { socket } = exchange.request;
    let open = this.#open.get(socket);
    if (open === undefined) {
      const added = new Set<Exchange>();
      open = added;
      this.#open.set(socket, added);
      socket.once("end", () => {
        for (const { response } of added) response.emit(CLIENT_ENDED);
      });
    }
    open.add(exchange);
    exchange.response.once("close", () => open.delete(exchange));
  }
}
