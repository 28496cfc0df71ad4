/**
 * A TCP connection to a server, for requests that are incomplete, malformed or slow.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Owner } from "./child.ts";

const WAIT_MS_MAX = 30_000;

export class RawConnection {
  received = "";
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    // The server may close the connection: not a failure of the test.
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (text: string) => {
      this.received += text;
    });
  }

  static async open(owner: Owner, url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    owner.after(async () => void socket.destroy());
    return new RawConnection(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Waits until the received text matches. */
  async receives(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(WAIT_MS_MAX);
    for (;;) {
      const match = pattern.exec(this.received);
      if (match !== null) return match;
      assert.ok(!this.#socket.readableEnded, `never received ${pattern}: ${this.received}`);
      await Promise.race([
        once(this.#socket, "data", { signal }),
        once(this.#socket, "end", { signal }),
      ]);
    }
  }

  /** Waits until the server has closed the connection. */
  async closed(): Promise<void> {
    if (this.#socket.closed) return;
    await once(this.#socket, "close", { signal: AbortSignal.timeout(WAIT_MS_MAX) });
  }
}

/** Whether the server accepts a new connection. */
export async function accepts(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
