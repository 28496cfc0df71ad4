/**
 * Calls to several replicas on one PostgreSQL, at one time, that a policy counts.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { countByStatus } from "./support/freezes.ts";
import { publish } from "./support/publishing.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";

const REPLICAS = 3;

const POLICY = `version: 1
rules:
  - id: budget
    match: { tool: pay }
    when: history.approved("1h") < 3 && history.instance_calls("1h") < 100
    then: approve
`;

test("[ours.policy.budget.strict] concurrent calls to three replicas approve no more than the rest of the budget, and replays do not count", async (t) => {
  const { servers } = await startReplicas(t, REPLICAS);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const editor = await at(0).token({ kind: "reviewer", role: "editor" });
  const published = await publish(at(0), editor, POLICY, 0);
  assert.equal(published.status, 201, published.text);
  // Others of the same instance, which the budget does not count, and which resolve soon.
  const bodies = [{ ...SUBMISSION, tool: "pay" }, SUBMISSION];
  for (let round = 0; round < 4; round++) {
    const instance = await at(0).instance();
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const answers = await Promise.all(
      [...keys, ...keys].map((key, i) =>
        submitBody(at(i + round), instance.token, bodies[(i % keys.length) % 2], key),
      ),
    );
    assert.equal(new Set(answers.map(({ json }) => json.id)).size, keys.length);
    const { approved, pending } = await countByStatus(at(round), instance.id);
    assert.deepEqual([approved, pending], [3, 17]);
  }
});

test("[ours.policy.budget.strict] a replica that learns of the policy with the call itself keeps to the budget", async (t) => {
  const { servers } = await startReplicas(t, REPLICAS);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const editor = await at(0).token({ kind: "reviewer", role: "editor" });
  const instance = await at(0).instance();
  const body = { ...SUBMISSION, tool: "pay" };
  for (let i = 0; i < REPLICAS; i++) await submitBody(at(i), instance.token, body, randomUUID());
  await publish(at(0), editor, POLICY, 0);
  await Promise.all(
    Array.from({ length: 24 }, (_, i) => submitBody(at(i), instance.token, body, randomUUID())),
  );
  assert.equal((await countByStatus(at(1), instance.id)).approved, 3);
});
