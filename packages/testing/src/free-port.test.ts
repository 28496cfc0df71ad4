import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { findFreePort } from "./free-port.ts";

test("a process can listen on the port, which the system does not assign by itself", async () => {
  const port = await findFreePort();
  assert.ok(port >= 20_000 && port < 32_000, `port ${port}`);
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  server.close();
  await once(server, "close");
});
