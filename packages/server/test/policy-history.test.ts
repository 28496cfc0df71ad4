import assert from "node:assert/strict";
import { test } from "node:test";
import {
  policyAsking,
  policySaying,
  publish,
  setGroups,
  showPolicy,
  startPolicyScene,
  type WirePolicy,
  type WirePublished,
} from "./support/publishing.ts";
import { auditOf } from "./support/scene.ts";

test("[ours.policy.history] every version stays unchanged, and a rollback publishes an old source as a new version", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, reviewer } = scene;
  const sources = ["a", "b", "c"].map((tool) => policySaying("deny", tool));
  for (const [i, source] of sources.entries()) await publish(server, editor, source, i);
  const body = { number: 1, expected_number: 3 };
  const back = await server.call<WirePublished>("POST", "/review/v1/policy/rollback", {
    token: editor,
    body,
  });
  assert.equal(back.status, 201, back.text);
  assert.deepEqual(
    [back.json.number, back.json.source, back.json.note],
    [4, sources[0], "Rollback to version 1."],
  );
  assert.equal((await auditOf(scene, "policy:4"))[0]?.detail.restores, 1);
  for (const [i, source] of [...sources, sources[0]].entries()) {
    assert.equal((await showPolicy(server, reviewer, `policy/versions/${i + 1}`)).source, source);
  }

  const numbers: number[] = [];
  let after = "";
  do {
    const path = `/review/v1/policy/versions?limit=3${after}`;
    const page = await server.call<{ versions: WirePolicy[]; next: number | null }>("GET", path, {
      token: reviewer,
    });
    assert.ok(page.json.versions.every((version) => !("source" in version)));
    numbers.push(...page.json.versions.map(({ number }) => number));
    after = page.json.next === null ? "" : `&after=${page.json.next}`;
  } while (after !== "");
  assert.deepEqual(numbers, [4, 3, 2, 1]);
});

test("[ours.policy.history] a rollback to rules with unknown groups, or without the expected number, is rejected", async (t) => {
  const { server, editor } = await startPolicyScene(t);
  const rollback = (number: number, expected: number) =>
    server.call<WirePublished>("POST", "/review/v1/policy/rollback", {
      token: editor,
      body: { number, expected_number: expected },
    });
  await setGroups(server, "reviewer", ["dba"]);
  await publish(server, editor, policyAsking("dba"), 0);
  await publish(server, editor, policySaying("deny", "x"), 1);
  assert.equal((await rollback(1, 1)).json.error.code, "policy_conflict");
  assert.equal((await rollback(9, 2)).status, 404);
  await setGroups(server, "reviewer", []);
  const gone = await rollback(1, 2);
  assert.equal(gone.json.error.code, "policy_invalid");
  assert.match(gone.json.error.findings?.[0]?.message ?? "", /dba/);
  assert.equal((await showPolicy(server, editor)).number, 2);
});
