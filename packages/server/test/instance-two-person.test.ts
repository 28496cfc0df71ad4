/** Groups and owner of an instance while policy takes two people. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import {
  type PolicyScene,
  publish,
  requireTwo,
  startPolicyScene,
  TWO_PERSON,
  twoPerson,
} from "./support/publishing.ts";
import { auditOf } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

interface Shown {
  readonly groups: readonly string[];
  readonly owner: string | null;
  readonly proposed_change?: {
    readonly groups: readonly string[];
    readonly owner: string | null;
    readonly proposer: string;
    readonly proposed_at: string;
  };
}

function change(
  { server, instance }: PolicyScene,
  token: string,
  body: unknown,
): Promise<Answer<Shown & ErrorResponse>> {
  return server.call("PATCH", `/review/v1/instances/${instance.id}`, { token, body });
}

async function show({ server, instance, reviewer }: PolicyScene): Promise<Shown> {
  const path = `/review/v1/instances/${instance.id}`;
  return (await server.call<Shown>("GET", path, { token: reviewer })).json;
}

async function reviewerId({ server }: PolicyScene, name: string): Promise<string> {
  const row = await server.provider.context.store.get("select id from reviewer where name = $1", [
    name,
  ]);
  return String(row?.id);
}

const RULES = twoPerson(`version: 1
rules:
  - { id: prod, match: { instance: { group: prod } }, then: ask }
  - { id: others, match: { tool: "*" }, then: approve }
`);

test("[ours.policy.two-person.instances] one person alone cannot take an instance out of a group that a rule names", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator, instance, clock } = scene;
  assert.equal((await change(scene, editor, { groups: ["prod"] })).status, 200);
  assert.equal((await publish(server, editor, RULES, 0)).status, 201);
  assert.equal((await server.submit(instance.token)).status, "pending");

  const proposed = await change(scene, editor, { groups: [] });
  assert.equal(proposed.status, 202, proposed.text);
  assert.deepEqual(proposed.json.groups, ["prod"]);
  assert.deepEqual((await show(scene)).proposed_change, {
    groups: [],
    owner: null,
    proposer: "Ed",
    proposed_at: new Date(clock.now()).toISOString(),
  });
  assert.equal((await change(scene, editor, { groups: [] })).status, 202);
  assert.equal((await server.submit(instance.token)).status, "pending");

  const confirmed = await change(scene, operator, { groups: [] });
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.deepEqual([confirmed.json.groups, confirmed.json.proposed_change], [[], undefined]);
  assert.equal((await server.submit(instance.token)).status, "approved");
  const detail = { groups: [], owner_id: null };
  const [ed, olga] = await Promise.all(["Ed", "Olga"].map((name) => reviewerId(scene, name)));
  const entries = await auditOf(scene, `instance:${instance.id}`);
  assert.deepEqual(
    entries.slice(-2).map(({ kind, actor, detail }) => ({ kind, actor, detail })),
    [
      { kind: "instance.grouping_proposed", actor: `reviewer:${ed}`, detail },
      {
        kind: "instance.grouped",
        actor: `reviewer:${olga}`,
        detail: { ...detail, proposed_by: `reviewer:${ed}` },
      },
    ],
  );
});

test("[ours.policy.two-person.instances] the owner, too, changes when two people ask for the same one", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  await requireTwo(server, editor);
  assert.equal((await change(scene, editor, { owner: "Ed" })).status, 202);
  // Another value is another proposal, of its own author.
  const other = await change(scene, operator, { owner: "Olga" });
  assert.deepEqual([other.status, other.json.proposed_change?.proposer], [202, "Olga"]);
  assert.equal((await change(scene, operator, { owner: "Olga" })).status, 202);
  assert.equal((await show(scene)).owner, null);
  assert.equal((await change(scene, editor, { owner: "Olga" })).status, 200);
  assert.equal((await show(scene)).owner, "Olga");
});

test("[ours.policy.two-person.instances] asking for what the instance has removes the proposal", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  await requireTwo(server, editor);
  assert.equal((await change(scene, editor, { groups: ["a"] })).status, 202);
  const withdrawn = await change(scene, editor, { groups: [] });
  assert.deepEqual([withdrawn.status, withdrawn.json.proposed_change], [200, undefined]);
  assert.equal((await change(scene, operator, { groups: ["a"] })).status, 202);
});

test("[ours.policy.two-person.instances] the baseline policy requires two people in every project, and bots do not count", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  await publish(server, operator, TWO_PERSON, 0, { place: "floor" });
  const bot = await server.token({ kind: "reviewer", name: "ci", role: "editor", isBot: true });
  const refused = await change(scene, bot, { groups: ["a"] });
  assertRefused(refused, 403, "forbidden");
  assert.match(refused.json.error.message, /bots do not count/);
  assert.equal((await change(scene, editor, { groups: ["a"] })).status, 202);
  assertRefused(await change(scene, bot, { groups: ["a"] }), 403, "forbidden");
  assert.deepEqual((await show(scene)).groups, []);
});

test("[ours.policy.two-person.instances] two simultaneous equal changes of two people: one proposes and one confirms", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  await requireTwo(server, editor);
  const answers = await Promise.all(
    [editor, operator].map((token) => change(scene, token, { groups: ["a"] })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 202]);
  assert.deepEqual((await show(scene)).groups, ["a"]);
});
