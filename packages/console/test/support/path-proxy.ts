/** A reverse proxy that serves a server below a path, which it takes away. */

import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Lifetime } from "../../../server/test/support/test-provider.ts";

/**
 * @param path with a slash on both sides
 * @returns its origin
 */
export async function startPathProxy(t: Lifetime, target: string, path: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { url = "", method = "GET", headers } = incoming;
    if (!url.startsWith(path)) {
      outgoing.writeHead(404).end();
      return;
    }
    const to = new URL(url.slice(path.length), `${target}/`);
    const passed = request(to, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}
