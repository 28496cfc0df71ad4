/** Suggested rules: computed from the history, and checked by the simulation. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuleSuggestions } from "@countersign/review-api";
import { enforce } from "./support/policies.ts";
import { startPolicyScene } from "./support/publishing.ts";
import type { Scene } from "./support/scene.ts";

async function suggest({ server }: Scene, token: string): Promise<RuleSuggestions> {
  const path = "/review/v1/policy/suggestions";
  const answer = await server.call<RuleSuggestions>("GET", path, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

test("[ours.policy.suggestions] a call that people always approved leads to a rule that the server accepts", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance, reviewer, editor } = scene;
  await enforce(
    server,
    "version: 1\nrules:\n  # Asks again.\n  - { id: ask, match: { tool: pay }, then: ask }\n",
  );
  const call = async (tool: string, args: object, verdict: "approve" | "deny") => {
    const { id } = await server.submit(instance.token, { tool, arguments: args });
    await server.decide(reviewer, id, verdict);
    scene.clock.advance(1);
  };
  for (let i = 0; i < 5; i++) {
    await call("db.read", { table: "orders", n: 1 }, "approve");
    // An ask rule has priority over an approve rule.
    await call("pay", { to: "ana" }, "approve");
    await call("deploy", { to: "prod" }, i < 4 ? "approve" : "deny");
  }
  await call("db.read", { table: "people", n: 1 }, "deny");
  const { suggestions, base_number: base, looked_at, complete } = await suggest(scene, editor);
  assert.deepEqual([base, looked_at, complete], [1, 16, true]);
  assert.deepEqual(
    suggestions.map((one) => [one.tool, one.approvals, one.answered, one.questions]),
    [["db.read", 5, 5, 6]],
  );
  const source = suggestions[0]?.source ?? "";
  assert.match(source, /# Asks again\./);
  await enforce(server, source);
  const { json } = await server.call<{ readonly valid: boolean }>(
    "POST",
    "/review/v1/policy/check",
    { token: editor, body: { source } },
  );
  assert.equal(json.valid, true);
  const args = { table: "orders", n: 1 };
  const again = await server.submit(instance.token, { tool: "db.read", arguments: args });
  assert.equal(again.status, "approved");
  const more = await server.submit(instance.token, {
    tool: "db.read",
    arguments: { ...args, force: true },
  });
  assert.equal(more.status, "pending");
});
