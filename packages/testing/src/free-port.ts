import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a port on which no process listens. The port is below the range from which the system
 * assigns ports, so no other process receives it before the caller uses it.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      // Another process listens on this port.
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
