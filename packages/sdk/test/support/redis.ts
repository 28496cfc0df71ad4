/** A real Redis for tests, in memory, at an address of this machine. It ends with its owner. */

import { Child, type Owner } from "@countersign/testing/child";
import { findFreePort } from "@countersign/testing/free-port";

/** @returns the URL */
export async function startRedis(owner: Owner): Promise<string> {
  const port = await findFreePort();
  const bind = ["--bind", "127.0.0.1", "--port", String(port)];
  const command = ["redis-server", ...bind, "--save", "", "--appendonly", "no"];
  const server = new Child(owner, command, { env: process.env });
  await server.prints("stdout", /Ready to accept connections/);
  return `redis://127.0.0.1:${port}`;
}
