/**
 * An address that stays while the server behind it is stopped and another one started: a TCP proxy
 * that also counts the streams which were asked for through it.
 */

import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Lifetime } from "@countersign/server/test/support/test-provider";

export interface Detour {
  readonly url: string;
  /** Whose connections there are from now on; nobody's when undefined. */
  lead(to: string | undefined): void;
  /** Streams that are open. */
  streams(): number;
  /** Waits until so many are open. */
  untilStreams(count: number): Promise<void>;
}

const STREAM = Buffer.from("GET /review/v1/events");

export async function startDetour(t: Lifetime): Promise<Detour> {
  const open = new Set<Socket>();
  const streaming = new Set<Socket>();
  const changes = new EventEmitter();
  let target: URL | undefined;
  const server = createServer((client) => {
    if (target === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    const end = () => {
      client.destroy();
      upstream.destroy();
      streaming.delete(client);
      changes.emit("change");
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", end).on("close", () => {
        open.delete(socket);
        end();
      });
    }
    client.on("data", (chunk) => {
      if (!chunk.includes(STREAM)) return;
      streaming.add(client);
      changes.emit("change");
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  t.after(() => {
    server.close();
    cut();
  });
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    lead(to) {
      target = to === undefined ? undefined : new URL(to);
      cut();
    },
    streams: () => streaming.size,
    async untilStreams(count) {
      while (streaming.size !== count) await once(changes, "change");
    },
  };
}
