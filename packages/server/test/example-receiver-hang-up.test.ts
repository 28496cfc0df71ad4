/**
 * The receivers that we give away, when a stranger hangs up in the middle of a message: anybody
 * can reach them, and must not be able to end them.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { findFreePort } from "@countersign/testing/free-port";
import { createSelfSigned } from "./support/self-signed.ts";
import { until } from "./support/until.ts";
import { REGISTRATION_ID, SIGNING_SECRET } from "./support/webhook-scene.ts";

const EXAMPLES = join(import.meta.dirname, "../../../examples/webhook-receiver");

const identity = createSelfSigned();

function folderWithIdentity(t: TestContext): string {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "tls-key.pem"), identity.key);
  writeFileSync(join(folder, "tls-cert.pem"), identity.certificate);
  writeFileSync(join(folder, "registrations.json"), `{"${REGISTRATION_ID}":"${SIGNING_SECRET}"}`);
  return folder;
}

/** @returns a connection to the port, undefined when no process listens there */
async function reach(port: number): Promise<TLSSocket | undefined> {
  const socket = connect({ port, host: "127.0.0.1", ca: identity.certificate });
  try {
    await once(socket, "secureConnect");
    return socket.on("error", () => undefined);
  } catch {
    return undefined;
  }
}

async function statusOf(socket: TLSSocket, message: string): Promise<string> {
  socket.write(`POST /hook HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${message}`);
  const answer = (await socket.setEncoding("utf8").toArray()).join("");
  return answer.slice(0, answer.indexOf("\r\n"));
}

/** Announces more than it sends, and goes. */
async function hangUp(socket: TLSSocket): Promise<void> {
  const head = "POST /hook HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
  await new Promise((sent) => socket.write(`${head}{"id":`, sent));
  socket.destroy();
  await once(socket, "close");
}

async function assertSurvives(port: number): Promise<void> {
  let first: TLSSocket | undefined;
  await until(async () => {
    first = await reach(port);
    return first !== undefined;
  }, "it is up");
  if (first !== undefined) await hangUp(first);
  // An exchange that comes later is answered, so what the first one did is over.
  for (let i = 0; i < 3; i++) {
    const next = await reach(port);
    assert.ok(next, "it is still there");
    assert.match(await statusOf(next, "content-length: 2\r\n\r\n{}"), /^HTTP\/1\.1 40[01] /);
  }
}

test("a stranger who hangs up does not end the receiver in thirty lines", async (t) => {
  const cwd = folderWithIdentity(t);
  const port = await findFreePort();
  const env = { REGISTRATION_ID, SIGNING_SECRET, TLS_CERT: "tls-cert.pem", TLS_KEY: "tls-key.pem" };
  const command = [process.execPath, join(EXAMPLES, "thirty-lines.mjs")];
  new Child(t, command, { env: { ...env, PORT: String(port) }, cwd });
  await assertSurvives(port);
});

test("a stranger who hangs up does not end the other receiver either", async (t) => {
  const folder = folderWithIdentity(t);
  const child = new Child(t, [process.execPath, join(EXAMPLES, "receiver.mjs"), folder, "0"], {
    env: {},
  });
  const [, port = ""] = await child.prints("stdout", /^listening on port (\d+)\n/);
  await assertSurvives(Number(port));
});

test("a receiver on a port in use prints one line with EADDRINUSE", async (t) => {
  const folder = folderWithIdentity(t);
  const command = [process.execPath, join(EXAMPLES, "receiver.mjs"), folder];
  const first = new Child(t, [...command, "0"], { env: {} });
  const [, port = ""] = await first.prints("stdout", /^listening on port (\d+)\n/);
  const { code, stderr } = await new Child(t, [...command, port], { env: {} }).ends();
  assert.equal(code, 1);
  assert.match(stderr, /^cannot listen: [^\n]*EADDRINUSE[^\n]*\n$/);
});
