import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { EXIT } from "@countersign/command-line";
import { ReviewerApi } from "./reviewer-api.ts";

const SERVER_DATE = "Thu, 01 Jan 2026 00:00:00 GMT";

/** A server that answers that a vote was withdrawn, with this Date header. */
async function clientOf(t: TestContext, date: string | undefined): Promise<ReviewerApi> {
  const server = createServer((_, response) => {
    response.sendDate = false;
    if (date !== undefined) response.setHeader("date", date);
    response.end('{"withdrawn":true}');
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  return new ReviewerApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "token");
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
  const server = createServer((_, response) => response.end("<html>")).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ReviewerApi(url, "token");
  await assert.rejects(client.call("GET /grants"), {
    exitCode: EXIT.unreachable,
    message: `${url} did not send a Countersign API response; check --url`,
  });
});
