/**
 * A freeze by one replica against what the others are doing on the same PostgreSQL.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { countByStatus, freeze, leaveFreeze, lift } from "./support/freezes.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const ROUNDS = 12;
const REQUESTS = 12;

test("[ours.freeze.race] whatever three replicas create and approve beside a freeze, nothing is approved or pending after its answer", async (t) => {
  const { servers } = await startReplicas(t, 3);
  const at = (i: number) => servers[i % 3] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  const outcomes = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const instance = await at(0).instance();
    const submit = async (i: number) =>
      (await submitBody(at(i), instance.token, SUBMISSION, randomUUID())).json;
    const ids = await Promise.all(
      Array.from({ length: REQUESTS }, async (_, i) => (await submit(i)).id),
    );
    const isProject = round % 2 === 0;
    const body = isProject ? { scope: "project" } : { scope: "instance", instance_id: instance.id };
    const decisions = ids.map(async (id, i) => {
      await sleep(i * 2);
      const { status } = await at(i).decide(reviewer, id, "approve");
      assert.ok(status === 200 || status === 409);
      outcomes.add(`approve ${status}`);
    });
    const submissions = ids.map(async (_, i) => {
      await sleep(i * 2);
      outcomes.add(`submit ${(await submit(i)).status}`);
    });
    await sleep(round * 2);
    const { json } = await freeze(at(2), reviewer, body);
    const counts = await countByStatus(at(2), instance.id);
    await Promise.all([...decisions, ...submissions]);
    const { approved = 0, denied = 0 } = await countByStatus(at(2), instance.id);
    assert.equal(counts.pending, undefined, "nothing is pending after the answer");
    assert.equal(counts.approved ?? 0, approved, "nothing was approved after the answer");
    assert.equal(denied, 2 * REQUESTS - approved);
    await lift(at(1), reviewer, json.id);
  }
  assert.deepEqual([...outcomes].sort(), [
    "approve 200",
    "approve 409",
    "submit denied",
    "submit pending",
  ]);
});

test("[ours.freeze.left] what one replica left pending under its freeze when it died, another denies", async (t) => {
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
