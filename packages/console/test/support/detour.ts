/**
 * An address that stays while the server behind it is stopped and another one started: a TCP proxy
 * that also counts the streams which were asked for through it, and can fall silent.
 */

import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Lifetime } from "../../../server/test/support/test-provider.ts";

export interface Detour {
  readonly url: string;
  /** Target of new connections; undefined rejects them. */
  lead(to: string | undefined): void;
  /** Passes nothing on and closes nothing, as where packets are dropped, until it leads. */
  fallSilent(): void;
  /** Number of heartbeats passed on by the latest stream. */
  pulses(): number;
  /** Streams that are open. */
  streams(): number;
  /** Waits until so many are open. */
  untilStreams(count: number): Promise<void>;
}

const STREAM = Buffer.from("GET /review/v1/events");
const PULSE = "event: pulse\n";

export async function startDetour(t: Lifetime): Promise<Detour> {
  const open = new Set<Socket>();
  const streaming = new Set<Socket>();
  const changes = new EventEmitter();
  let target: URL | undefined;
  let isSilent = false;
  let newest: Socket | undefined;
  let pulses = 0;
  const server = createServer((client) => {
    if (isSilent) {
      open.add(client);
      client.on("error", () => {}).on("close", () => open.delete(client));
      return;
    }
    if (target === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    endTogether(open, [client, upstream], () => {
      streaming.delete(client);
      changes.emit("change");
    });
    client.on("data", (chunk) => {
      if (!chunk.includes(STREAM)) return;
      streaming.add(client);
      newest = client;
      pulses = 0;
      changes.emit("change");
    });
    upstream.on("data", (chunk) => {
      if (client === newest) pulses += chunk.toString("latin1").split(PULSE).length - 1;
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
      isSilent = false;
      target = to === undefined ? undefined : new URL(to);
      cut();
    },
    fallSilent() {
      isSilent = true;
      for (const socket of open) socket.unpipe().pause();
    },
    pulses: () => pulses,
    streams: () => streaming.size,
    async untilStreams(count) {
      while (streaming.size !== count) await once(changes, "change");
    },
  };
}

/** When one of the two sockets is closed, so is the other. */
function endTogether(open: Set<Socket>, both: readonly Socket[], onEnd: () => void): void {
  const end = () => {
    for (const socket of both) socket.destroy();
    onEnd();
  };
  for (const socket of both) {
    open.add(socket);
    socket.on("error", end).on("close", () => {
      open.delete(socket);
      end();
    });
  }
}
