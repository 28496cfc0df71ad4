/**
 * Calls to several replicas on one PostgreSQL, at one time, that a grant answers.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { countByStatus } from "./support/freezes.ts";
import { makeGrant, revokeGrant, showGrant } from "./support/grants.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const REPLICAS = 3;

test("[ours.grant.bounds] [ours.grant.replay] concurrent calls to three replicas approve no more than the grants have left, and replays do not count", async (t) => {
  const { servers } = await startReplicas(t, REPLICAS);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < 3; round++) {
    const instance = await at(0).instance();
    const body = { instance_id: instance.id, tool: SUBMISSION.tool };
    const grants = [
      await makeGrant(at(0), reviewer, { ...body, calls: 7 }),
      await makeGrant(at(1), reviewer, { ...body, calls: 5 }),
    ];
    const keys = Array.from({ length: 30 }, () => randomUUID());
    const answers = await Promise.all(
      [...keys, ...keys].map((key, i) => submitBody(at(i), instance.token, SUBMISSION, key)),
    );
    assert.equal(new Set(answers.map(({ text }) => text)).size, keys.length);
    const { approved, pending } = await countByStatus(at(0), instance.id);
    assert.deepEqual([approved, pending], [12, 18]);
    for (const { id, calls_max } of grants) {
      assert.equal((await showGrant(at(2), reviewer, id)).json.calls, calls_max);
    }
  }
});

test("[ours.grant.revoke] after a revocation at one replica no other replica approves with the grant", async (t) => {
  const { servers } = await startReplicas(t, REPLICAS);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < 4; round++) {
    const instance = await at(0).instance();
    const body = { instance_id: instance.id, tool: SUBMISSION.tool, calls: 1_000 };
    const { id } = await makeGrant(at(0), reviewer, body);
    let isRevoked = false;
    let approvals = 0;
    const play = async (i: number): Promise<void> => {
      for (let isLast = false; !isLast; ) {
        isLast = isRevoked;
        const { json } = await submitBody(at(i), instance.token, SUBMISSION, randomUUID());
        assert.equal(isLast ? json.status : "pending", "pending");
        if (json.status === "approved") approvals++;
      }
    };
    const players = Promise.all(Array.from({ length: 9 }, (_, i) => play(i)));
    players.catch(() => {});
    await until(() => approvals > round, "some are approved");
    const { json } = await revokeGrant(at(round), reviewer, id);
    const { approved } = await countByStatus(at(round), instance.id);
    isRevoked = true;
    await players;
    const after = await countByStatus(at(round), instance.id);
    assert.deepEqual([after.approved, json.calls], [approved, approved]);
  }
});
