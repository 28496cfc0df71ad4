import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { ReviewClient } from "./review-client.ts";

const SERVER_DATE = "Thu, 01 Jan 2026 00:00:00 GMT";

/** A server that answers every request with `{}` and this Date header. */
async function clientOf(t: TestContext, date: string | undefined): Promise<ReviewClient> {
  const server = createServer((_, response) => {
    response.sendDate = false;
    if (date !== undefined) response.setHeader("date", date);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  return new ReviewClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "token");
}

test("[ours.cli.server-time] the server's Date header sets the time, at the end of its second", async (t) => {
  const client = await clientOf(t, SERVER_DATE);
  await client.exchange("GET", "/requests");
  assert.equal(client.now, Date.parse(SERVER_DATE) + 999);
});

for (const [name, date] of Object.entries({ "no Date header": undefined, "a bad one": "soon" })) {
  test(`[ours.cli.server-time] an answer with ${name} sets the time of the local clock`, async (t) => {
    const client = await clientOf(t, date);
    const before = Date.now();
    await client.exchange("GET", "/requests");
    assert.ok(client.now >= before && client.now <= Date.now(), String(client.now));
  });
}
