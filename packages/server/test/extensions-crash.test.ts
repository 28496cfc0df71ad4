// Tier: slow
/** Approvals that are being consumed while the power is cut. */

import assert from "node:assert/strict";
import { type Answer, exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { withStore } from "@countersign/testing/deliveries";
import { testOnly } from "./support/engine.ts";
import { decide } from "./support/imports.ts";

const test = testOnly(
  "sqlite",
  "the server process is on a folder; see postgres-extensions.test.ts",
);

const APPROVALS = 24;
const KEYS = 3;
const ACKNOWLEDGED_MIN = 6;

test("[ours.extensions.consume.replay] a consumption acknowledged before the power cut is kept after it, for that key only", async (t) => {
  const data = `${temporaryFolder(t)}/data`;
  const args = ["--extensions", "consume,outcome", "--instance-rate", "0"];
  const server = await startServer(t, { data, args });
  const agent = await newAgent(server);
  const reviewer = await makeToken(data, { kind: "reviewer" });
  const ids: string[] = [];
  for (let n = 0; n < APPROVALS; n++) {
    const { id } = await agent.submit({ arguments: { n } });
    await decide(server, reviewer, id, "approve");
    ids.push(id);
  }
  const acknowledged = new Map<string, { readonly key: string; readonly answer: Answer }>();
  let killed: Promise<void> | undefined;
  const consume = async (id: string, key: string): Promise<void> => {
    if (killed !== undefined) return;
    try {
      const url = `${server.url}/v1/requests/${id}/consume`;
      const answer = await exchange("POST", url, agent.token, undefined, key);
      if (answer.status !== 200) return assert.equal(answer.status, 409, answer.text);
      assert.ok(!acknowledged.has(id), "two keys consumed one approval");
      acknowledged.set(id, { key, answer });
    } catch (error) {
      // The connection broke: nothing was promised.
      if (!(error instanceof TypeError)) throw error;
    }
    if (acknowledged.size === ACKNOWLEDGED_MIN) killed ??= server.kill();
  };
  const keys = Array.from({ length: KEYS }, (_, n) => `key-${n}`);
  // One after another for each key, so that the cut comes in the midst of it.
  await Promise.all(
    keys.map(async (key) => {
      for (const id of ids) await consume(id, key);
    }),
  );
  await killed;

  const after = await startServer(t, { data, args });
  const at = (id: string) => `${after.url}/v1/requests/${id}/consume`;
  for (const id of ids) {
    const answers = [];
    for (const key of [...keys, "later"]) {
      answers.push({ key, ...(await exchange("POST", at(id), agent.token, undefined, key)) });
    }
    const [one, ...more] = answers.filter(({ status }) => status === 200);
    assert.ok(one);
    assert.deepEqual(more, []);
    const before = acknowledged.get(id);
    if (before !== undefined)
      assert.deepEqual([one.key, one.text], [before.key, before.answer.text]);
  }
  await withStore(after, async (store) => {
    const entries = await store.all("select id from audit_entry where kind = 'approval.consumed'");
    assert.equal(entries.length, APPROVALS);
  });
  await after.stop();
});
