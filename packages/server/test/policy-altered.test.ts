/** Policies with a text that was changed in the database, under the digest of the original. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { exchange } from "@countersign/testing/agents";
import { assertVerified, storeOf, tamper, untilSealed, verifyAll } from "./support/audit-logs.ts";
import { enforce, FLOOR, judgementOf, policyOf } from "./support/policies.ts";
import {
  policySaying,
  propose,
  publish,
  publishProposal,
  readProposal,
  rollBack,
  showPolicy,
  startPolicyScene,
} from "./support/publishing.ts";
import type { Scene } from "./support/scene.ts";

const ASK = policyOf('{ id: all, match: { tool: "*" }, then: ask }');
const DENY = policyOf('{ id: all, match: { tool: "*" }, then: deny }');
const APPROVE = policyOf('{ id: all, match: { tool: "*" }, then: approve }');

async function alter({ server }: Pick<Scene, "server">, table: string): Promise<void> {
  const { store } = server.provider.context;
  await store.transact((tx) => tx.run(`update ${table} set source = $1`, [APPROVE]));
}

async function failuresOf({ server }: Pick<Scene, "server">, table: string): Promise<number> {
  const { text } = await exchange("GET", `${server.url}/metrics`);
  const sample = new RegExp(
    `^countersign_integrity_failures_total\\{table="${table}"\\} (\\d+)$`,
    "m",
  );
  return Number(sample.exec(text)?.[1]);
}

test("[ours.policy.altered] a policy with a stored text that does not match its digest approves and denies nothing: its calls ask people", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, instance } = scene;
  assert.equal(await failuresOf(scene, "policy_version"), 0);
  for (const [place, source] of [
    ["default", ASK],
    [FLOOR, DENY],
  ] as const) {
    await enforce(server, source, place);
    await alter(scene, "policy_version");
    const { id, status } = await server.submit(instance.token);
    assert.equal(status, "pending");
    const { because, errors } = await judgementOf(server, id);
    assert.equal(because, "error");
    assert.match(errors[0]?.message ?? "", /text of version 1 does not match its SHA-256/);
  }
  assert.equal(await failuresOf(scene, "policy_version"), 2);
});

test("[ours.policy.altered] reads say that the stored text was altered, and it can be neither rolled back to nor proposed again", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  await publish(server, editor, policySaying("deny", "a"), 0);
  assert.equal("altered" in (await showPolicy(server, editor)), false);
  await alter(scene, "policy_version");
  assert.equal(
    Object.entries(await showPolicy(server, editor)).find(([k]) => k === "altered")?.[1],
    true,
  );
  const back = await rollBack(server, editor, 1, 1);
  assert.deepEqual([back.status, back.json.error.code], [422, "policy_invalid"]);
  assert.match(back.json.error.message, /version 1 does not match its SHA-256/);
  assert.equal((await propose(server, editor, { restores: 1 }, 1)).status, 422);

  const again = await publish(server, editor, policySaying("deny", "a"), 1);
  assert.deepEqual([again.status, again.json.number], [201, 2]);
});

test("[ours.policy.altered] a proposal that was altered in the database cannot be published", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  const { id } = (await propose(server, editor, policySaying("deny", "a"), 0)).json;
  await alter(scene, "policy_proposal");
  const shown: object = await readProposal(server, operator, id);
  assert.equal("altered" in shown && shown.altered, true);
  const answer = await publishProposal(server, operator, id);
  assert.deepEqual([answer.status, answer.json.error.code], [422, "policy_invalid"]);
  assert.equal((await showPolicy(server, editor)).number, 0);
  assert.equal(await failuresOf(scene, "policy_proposal"), 1);
});

test("[ours.policy.altered] audit verify names a version that was changed with its digest, in its two people, or removed", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  await publish(server, editor, policySaying("deny", "a"), 0);
  await publish(server, editor, policySaying("deny", "b"), 1);
  await untilSealed(scene);
  await assertVerified(scene);
  const row = await storeOf(scene).get(
    "select source, sha256 from policy_version where number = 2",
  );
  const undo = "source = $1, sha256 = $2, is_two_person = 0 where number = 2";
  const sha256 = createHash("sha256").update(APPROVE).digest("hex");
  for (const [change, says] of [
    [`source = '${APPROVE}'`, /^the text of version 2 of the policy does not match its SHA-256$/],
    [`source = '${APPROVE}', sha256 = '${sha256}'`, /has another SHA-256 than the one published$/],
    ["is_two_person = 1", /the two-person setting of .* was changed$/],
  ] as const) {
    await tamper(scene, `update policy_version set ${change} where number = 2`);
    const { fault, message } = (await verifyAll(scene)).finding ?? {};
    assert.equal(fault, "altered");
    assert.match(message ?? "", says);
    const before = [row?.source ?? null, row?.sha256 ?? null];
    await tamper(scene, `update policy_version set ${undo}`, ...before);
  }
  await assertVerified(scene);
  await tamper(scene, "delete from policy_version where number = 2");
  const { fault, message } = (await verifyAll(scene)).finding ?? {};
  assert.deepEqual([fault, message], ["missing", "version 2 of the policy is missing"]);
});
