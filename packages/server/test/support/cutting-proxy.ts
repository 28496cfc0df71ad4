/**
 * A TCP proxy in front of a database that cuts a connection when it is told to commit: before the
 * database hears of it or after it has answered, which nobody can tell from the other side.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Lifetime } from "./test-provider.ts";

export interface CuttingProxy {
  /** The URL of the database, through the proxy. */
  readonly url: string;
  /** What happens to the next commit. */
  cut: "before" | "after" | undefined;
  /** Whether connections are refused. */
  isDown: boolean;
}

const COMMIT = Buffer.from("commit\0");

export async function startCuttingProxy(t: Lifetime, url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (proxy.isDown) return client.destroy();
    const database = connect(Number(target.port), target.hostname);
    const end = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) {
      open.add(socket);
      socket.on("error", end).on("close", end);
    }
    let isLast = false;
    client.on("data", (chunk) => {
      const cut = chunk.includes(COMMIT) ? proxy.cut : undefined;
      if (cut !== undefined) proxy.cut = undefined;
      if (cut === "before") return end();
      isLast = cut === "after";
      database.write(chunk);
    });
    database.on("data", (chunk) => (isLast ? end() : client.write(chunk)));
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const through = new URL(url);
  through.port = String((server.address() as AddressInfo).port);
  const proxy: CuttingProxy = { url: through.href, cut: undefined, isDown: false };
  return proxy;
}
