/**
 * A forward proxy that knows CONNECT alone, as operators run one to guard what leaves a network.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import type { KeyAndCertificate } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";

export interface ConnectProxy {
  readonly url: string;
  /** The targets of its CONNECT requests: `name:port`. */
  readonly targets: readonly string[];
  readonly connections: number;
}

/**
 * @param route the port on loopback that replaces the target, or the status of the rejection;
 *   undefined for no response
 * @param identity for a proxy that accepts TLS connections
 */
export async function startConnectProxy(
  t: Lifetime,
  route: (target: string) => { readonly port: number } | { readonly status: number } | undefined,
  identity?: KeyAndCertificate,
): Promise<ConnectProxy> {
  const targets: string[] = [];
  const open = new Set<Duplex>();
  let connections = 0;
  const server =
    identity === undefined
      ? createServer()
      : createTlsServer({ key: identity.key, cert: identity.certificate });
  server.on("connection", () => connections++);
  server.on("connect", (request, client: Duplex) => {
    const target = request.url ?? "";
    targets.push(target);
    open.add(client.on("error", () => undefined));
    const to = route(target);
    if (to === undefined) return;
    if ("status" in to) {
      client.end(`HTTP/1.1 ${to.status} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const upstream = connect(to.port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    open.add(upstream.on("error", () => client.destroy()));
    client.on("close", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const each of open) each.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    targets,
    get connections() {
      return connections;
    },
  };
}
