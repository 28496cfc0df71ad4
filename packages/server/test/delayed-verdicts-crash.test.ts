// Tier: slow
/**
 * A verdict that is held when its server is killed.
 */

import assert from "node:assert/strict";
import { exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { testOnly } from "./support/engine.ts";

const test = testOnly(
  "sqlite",
  "the server process is on a folder; replicas: postgres-events.test.ts",
);

test("[ours.hold.durable] a killed server applies delayed verdicts after its restart", async (t) => {
  const data = temporaryFolder(t);
  const killed = await startServer(t, { data });
  const reviewer = await makeToken(killed.data, { kind: "reviewer" });
  const agent = await newAgent(killed);
  const { id } = (await agent.post("key", {})).json;
  const path = (url: string) => `${url}/review/v1/requests/${id}`;
  const shown = await exchange<{ arguments_sha256: string }>("GET", path(killed.url), reviewer);
  const body = {
    verdict: "approve",
    note: "held",
    hold: "1s",
    arguments_sha256: shown.json.arguments_sha256,
  };
  const held = await exchange<{ status: string; held: { commits_at: string } }>(
    "POST",
    `${path(killed.url)}/verdict`,
    reviewer,
    body,
  );
  assert.equal(held.json.status, "pending", held.text);
  await killed.kill();
  const server = await startServer(t, { data });
  const read = () =>
    exchange<{ status: string; decision?: { note: string } }>("GET", path(server.url), reviewer);
  const given = await eventually("the verdict is given", async () => {
    const { json } = await read();
    return json.status === "pending" ? undefined : json;
  });
  assert.deepEqual([given.status, given.decision?.note], ["approved", "held"]);
});
