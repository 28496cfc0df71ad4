import assert from "node:assert/strict";
import { join } from "node:path";
import { exchange, newAgent } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, startServer } from "@countersign/testing/countersign";
import { testOnly } from "./support/engine.ts";

const test = testOnly("sqlite", "replicas share a PostgreSQL");

test("[ours.operations.second-server] a second server does not start, and prints the folder, process and address of the first one", async (t) => {
  const server = await startServer(t);
  const args = ["serve", "--port", "0", "--data", server.data];
  const { code, stdout, stderr } = await countersign(t, args);
  assert.deepEqual([code, stdout], [1, ""]);
  const holder = `(process ${server.process.pid}, ${server.url})`;
  const [first, second = ""] = stderr.split("\n");
  assert.equal(first, `countersign: another server is running on ${server.data} ${holder}`);
  assert.match(second, /^countersign: To set it up, run: (npx )?countersign init --data /);
});

test("[ours.operations.second-server] the first server does not notice", async (t) => {
  const server = await startServer(t);
  const agent = await newAgent(server);
  const request = await agent.submit();
  const args = ["serve", "--port", "0", "--data", server.data];
  const refused = await Promise.all([countersign(t, args), countersign(t, args)]);
  assert.deepEqual(
    refused.map(({ code }) => code),
    [1, 1],
  );
  assert.deepEqual(await agent.read(request.id), request);
  assert.equal((await agent.submit()).status, "pending");
  assert.equal((await exchange("GET", `${server.url}/readyz`)).status, 200);
});

test("[ours.operations.second-server] of servers that start concurrently on a new folder exactly one runs", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const starts = [0, 1, 2].map(() => startServer(t, { data }));
  const settled = await Promise.allSettled(starts);
  const running = settled.filter((start) => start.status === "fulfilled");
  assert.equal(running.length, 1);
  for (const start of settled) {
    if (start.status === "rejected")
      assert.match(String(start.reason), /another server is running/);
  }
  const [winner] = running;
  assert.equal((await exchange("GET", `${winner?.value.url}/readyz`)).status, 200);
});

test("[ours.operations.second-server] the folder is free when its server has stopped, and when it was killed", async (t) => {
  const first = await startServer(t);
  await first.stop();
  const second = await startServer(t, { data: first.data });
  await second.kill();
  const third = await startServer(t, { data: first.data });
  assert.equal((await exchange("GET", `${third.url}/readyz`)).status, 200);
});

test("[ours.operations.second-server] a server on another folder runs beside it", async (t) => {
  const [one, two] = [await startServer(t), await startServer(t)];
  for (const { url } of [one, two])
    assert.equal((await exchange("GET", `${url}/readyz`)).status, 200);
});
