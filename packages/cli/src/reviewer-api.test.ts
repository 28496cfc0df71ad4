import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { EXIT } from "@countersign/command-line";
import { ReviewerApi } from "./reviewer-api.ts";

const SERVER_DATE = "Thu, 01 Jan 2026 00:00:00 GMT";

/** @returns the URL */
async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  t.after(() => server.close().closeAllConnections());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client of a server that answers that a vote was withdrawn, with this Date header. */
async function clientOf(t: TestContext, date: string | undefined): Promise<ReviewerApi> {
  const url = await serve(t, (_, response) => {
    response.sendDate = false;
    if (date !== undefined) response.setHeader("date", date);
    response.end('{"withdrawn":true}');
  });
  return new ReviewerApi(url, "token");
}

test("[ours.cli.server-time] the server's Date header sets the time, at the end of its second", async (t) => {
  const client = await clientOf(t, SERVER_DATE);
  await client.call("DELETE /requests/{id}/vote", { path: { id: "any" } });
  assert.equal(client.now, Date.parse(SERVER_DATE) + 999);
});

for (const [name, date] of Object.entries({ "no Date header": undefined, "a bad one": "soon" })) {
  test(`[ours.cli.server-time] an answer with ${name} sets the time of the local clock`, async (t) => {
    const client = await clientOf(t, date);
    const before = Date.now();
    await client.call("DELETE /requests/{id}/vote", { path: { id: "any" } });
    assert.ok(client.now >= before && client.now <= Date.now(), String(client.now));
  });
}

test("an answer that is not of the reviewer API ends the command with exit code 3", async (t) => {
  const url = await serve(t, (_, response) => response.end("<html>"));
  const client = new ReviewerApi(url, "token");
  await assert.rejects(client.call("GET /grants"), {
    exitCode: EXIT.unreachable,
    message: `${url} did not send a Countersign API response; check --url`,
  });
});

test("[ours.cli.exit-codes] a TLS error is one line with its code and what to check", async (t) => {
  const url = await serve(t, (_, response) => response.end());
  const secure = url.replace("http:", "https:");
  await assert.rejects(new ReviewerApi(secure, "token").call("GET /grants"), {
    exitCode: EXIT.unreachable,
    message:
      `cannot reach ${secure}: ERR_SSL_WRONG_VERSION_NUMBER; ` +
      "check --url, and that the server runs",
  });
});

test("an error answer that breaks off ends the command with exit code 3", async (t) => {
  const url = await serve(t, (_, response) => {
    response.writeHead(409, { "content-length": 100 });
    response.write("{", () => response.destroy());
  });
  await assert.rejects(new ReviewerApi(url, "token").call("GET /grants"), {
    name: "CommandError",
    exitCode: EXIT.unreachable,
  });
});

test("an exchange that its caller aborts rejects with the caller's reason", async (t) => {
  const abort = new AbortController();
  const url = await serve(t, () => abort.abort(new Error("stopped")));
  const { signal } = abort;
  await assert.rejects(new ReviewerApi(url, "token").call("GET /grants", { signal }), {
    message: "stopped",
  });
});

test("an exchange with a caller's signal keeps its time limit", async (t) => {
  const url = await serve(t, () => {});
  const { signal } = new AbortController();
  const call = new ReviewerApi(url, "token").call("GET /grants", { signal, timeoutMs: 1 });
  await assert.rejects(call, { name: "CommandError", exitCode: EXIT.unreachable });
});
