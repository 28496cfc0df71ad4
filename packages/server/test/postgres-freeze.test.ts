/**
 * A freeze by one replica against what the others are doing on the same PostgreSQL.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { countByStatus, freeze, leaveFreeze, lift } from "./support/freezes.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const REPLICAS = 3;
const ROUNDS = 8;
const PLAYERS = 9;

test("[ours.freeze.race] when three replicas create and approve during a freeze, nothing is approved or pending after its answer", async (t) => {
  const { servers } = await startReplicas(t, REPLICAS);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < ROUNDS; round++) {
    const instance = await at(0).instance();
    const submit = async (i: number): Promise<ApprovalRequest> =>
      (await submitBody(at(i), instance.token, SUBMISSION, randomUUID())).json;
    let isAnswered = false;
    let approvals = 0;
    /** Submits and approves again and again, until a whole turn has come after the freeze. */
    const play = async (i: number): Promise<void> => {
      const late = await submit(i);
      for (let isLast = false; !isLast; ) {
        isLast = isAnswered;
        const { id, status } = await submit(i);
        assert.equal(isLast ? status : "denied", "denied", "a new request is denied");
        if (status === "denied") continue;
        const answer = await at(i + 1).decide(reviewer, id, "approve");
        assert.ok(answer.status === 200 || answer.status === 409, answer.text);
        if (answer.status === 200) approvals++;
      }
      assert.equal((await at(i + 2).decide(reviewer, late.id, "approve")).status, 409);
    };
    const players = Promise.all(Array.from({ length: PLAYERS }, (_, i) => play(i)));
    players.catch(() => {});
    await until(() => approvals > round, "some are approved");

    const body =
      round % 2 === 0 ? { scope: "project" } : { scope: "instance", instance_id: instance.id };
    const { json } = await freeze(at(round), reviewer, body);

    const { pending, approved } = await countByStatus(at(round), instance.id);
    isAnswered = true;
    await players;
    const after = await countByStatus(at(round), instance.id);
    assert.deepEqual([pending, after.pending], [undefined, undefined], "nothing is pending");
    assert.equal(after.approved, approved, "nothing was approved after the answer");
    await lift(at(1), reviewer, json.id);
  }
});

test("[ours.freeze.left] requests that a replica left pending under its freeze when it died are denied by another", async (t) => {
  const { servers } = await startReplicas(t, 2);
  const [first, second] = servers as readonly [TestProvider, TestProvider];
  const instance = await first.instance();
  const { id } = await first.submit(instance.token);
  await first.stop();
  await leaveFreeze(second, instance.id);
  await until(
    async () => (await second.read(instance.token, id)).status === "denied",
    "the other replica denies",
  );
});
