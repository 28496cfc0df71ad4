/** The connection of the hook to its provider: TLS, redirects and lost connections. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type RequestListener, request, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createSelfSigned } from "../../server/test/support/self-signed.ts";
import { providerFetch } from "../src/hook/provider-fetch.ts";
import {
  assertBlocked,
  callInput,
  decisionIn,
  runHook,
  startHook,
  startHookScene,
} from "./support/hook-scene.ts";

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, createServer(listener))}/`;
}

test("[ours.adapters.hook.connection] the hook connects by TLS, and only to a trusted certificate", async (t) => {
  const scene = await startHookScene(t);
  const { key, certificate } = createSelfSigned();
  const proxy = createTlsServer({ key, cert: certificate }, (incoming, outgoing) => {
    const { method, headers, url = "/" } = incoming;
    const onward = request(new URL(url, scene.url), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  const url = `https://localhost:${await listen(t, proxy)}`;
  const env = { ...scene.environment, COUNTERSIGN_URL: url };
  const untrusted = await runHook(t, scene.home, { input: callInput(), env });
  assertBlocked(untrusted, /could not be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
  assert.equal(await scene.countRequests(), 0);

  const caFile = join(scene.home, "ca.pem");
  writeFileSync(caFile, certificate);
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: caFile };
  const hook = startHook(t, scene.home, { input: callInput(), env: trusting });
  await scene.decideNext("approve");
  assert.equal(decisionIn(await hook.ends()).permissionDecision, "allow");
});

/** The members that the SDK passes. */
function initOf(fields: RequestInit = {}): RequestInit {
  return { method: "GET", headers: {}, signal: new AbortController().signal, ...fields };
}

async function readAll({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return text;
    text += Buffer.from(value as Uint8Array).toString();
  }
}

test("[ours.adapters.hook.connection] the fetch of the hook sends the body with its length, and returns status, headers and body", async (t) => {
  const url = await serve(t, async (incoming, outgoing) => {
    const chunks = await incoming.toArray();
    const length = incoming.headers["content-length"];
    outgoing.writeHead(409, [
      ["link", "<a>"],
      ["link", "<b>"],
    ]);
    outgoing.end(`${incoming.method} ${length} ${Buffer.concat(chunks).toString()}`);
  });
  const response = await providerFetch(url, initOf({ method: "POST", body: "é" }));
  assert.equal(response.status, 409);
  assert.equal(response.headers.get("Link"), "<a>, <b>");
  assert.equal(response.headers.get("date-of-nothing"), null);
  assert.equal(await readAll(response), "POST 2 é");
});

test("[ours.adapters.hook.connection] the fetch of the hook does not follow a redirect", async (t) => {
  let count = 0;
  const url = await serve(t, (_, outgoing) => {
    count++;
    outgoing.writeHead(307, { location: "/elsewhere" }).end();
  });
  assert.equal((await providerFetch(url, initOf())).status, 307);
  assert.equal(count, 1);
});

test("[ours.adapters.hook.connection] a lost connection or an abort rejects with a code, before and in the body", async (t) => {
  const silent = await serve(t, (incoming) => incoming.socket.destroy());
  await assert.rejects(providerFetch(silent, initOf()), { code: "ECONNRESET" });

  const partial = await serve(t, (incoming, outgoing) => {
    outgoing.writeHead(200, { "content-length": "100" });
    outgoing.write("half", () => {
      if (incoming.url === "/lost") incoming.socket.destroy();
    });
  });
  const lost = await providerFetch(`${partial}lost`, initOf());
  await assert.rejects(readAll(lost), { code: "ECONNRESET" });

  const controller = new AbortController();
  const waiting = await providerFetch(partial, initOf({ signal: controller.signal }));
  const rest = readAll(waiting);
  controller.abort();
  await assert.rejects(rest, (error) => typeof Object(error).code === "string");
  await assert.rejects(providerFetch(partial, initOf({ signal: controller.signal })), {
    code: "ABORT_ERR",
  });
});
