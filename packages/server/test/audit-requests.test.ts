/** The findings of `audit verify` about requests: their approvals, and their rows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApprovalRequest, firstIdAt, timeOfId } from "@countersign/protocol";
import { appendAuditAs, type RecordedRequirement } from "../src/audit/append-audit.ts";
import {
  assertVerified,
  countUnsealed,
  projectId,
  storeOf,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { freeze, lift } from "./support/freezes.ts";
import { makeUp, reviewerOf } from "./support/made-up-approvals.ts";
import { overwriteRequest, requestRow } from "./support/overwritten-requests.ts";
import { approve, newSigner } from "./support/passkeys.ts";
import { callAs } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { type PolicyScene, publish, startPolicyScene } from "./support/publishing.ts";
import { auditOf, countRequests, end, startScene, TERMINAL } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const HOUR = 3_600_000;

function policyAsking(ask: string): string {
  return policyOf(`{ id: all, match: { tool: "*" }, then: ask, ask: ${ask} }`);
}

test("[ours.audit.requirement] the opening of a request records the requirement of the rule, and nothing where policy did not ask", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const requirementOf = async (id: string) =>
    (await auditOf(scene, `request:${id}`))[0]?.detail.requirement;
  assert.equal(await requirementOf((await server.submit(instance.token)).id), undefined);
  const ask =
    "{ from: [group:dba], quorum: 2, confirm: passkey, exclude: [owner], note: required }";
  await enforce(server, policyAsking(ask));
  assert.deepEqual(await requirementOf((await server.submit(instance.token)).id), {
    confirm: "passkey",
    quorum: 2,
    from: [["group:dba"]],
    exclude_owner: true,
    note: true,
    grants: true,
    bots: false,
  });
  await enforce(server, policyAsking("{ confirm: type(tool) }"));
  const { id, tool } = await server.submit(instance.token);
  const typed = JSON.stringify(await requirementOf(id));
  assert.match(typed, /"confirm":"type"/);
  assert.equal(typed.includes(tool), false);
});

test("[ours.audit.requirement] audit verify names an approval that lacks the passkey of its requirement, and passes one that has it", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ confirm: passkey }"));
  const ana = await newSigner(server, { login: "ana@example.com" });
  const signed = await server.submit(instance.token);
  assert.equal((await approve(server, ana, signed.id)).status, 200);
  await untilSealed(scene);
  await assertVerified(scene);
  const { id } = await server.submit(instance.token);
  await makeUp(scene, id, `reviewer:${await reviewerOf(scene, ana)}`);
  await untilSealed(scene);
  assert.equal((await server.read(instance.token, id)).status, "approved");
  const { fault, kind, message } = (await verifyAll(scene)).finding ?? {};
  assert.deepEqual([fault, kind], ["entry", "request.resolved"]);
  assert.match(message ?? "", /^passkey: its request required a passkey, and reviewer:\S+ gave no/);
});

test("[ours.audit.requirement] audit verify counts the signed votes of a quorum, without withdrawn ones", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ confirm: passkey, quorum: 2 }"));
  const ana = await newSigner(server, { login: "ana@example.com" });
  const ben = await newSigner(server, { login: "ben@example.com" });
  const [whole, half] = [await server.submit(instance.token), await server.submit(instance.token)];
  for (const person of [ana, ben]) {
    assert.equal((await approve(server, person, whole.id)).status, 200);
  }
  assert.equal((await server.read(instance.token, whole.id)).status, "approved");
  await untilSealed(scene);
  await assertVerified(scene);
  for (const person of [ana, ben]) {
    assert.equal((await approve(server, person, half.id)).status, 200);
    scene.clock.advance(1);
    if (person === ana) {
      const { status } = await callAs(server, ana, "DELETE", `/requests/${half.id}/vote`);
      assert.equal(status, 200);
    }
  }
  await makeUp(scene, half.id, `reviewer:${await reviewerOf(scene, ben)}`);
  await untilSealed(scene);
  const { fault, message } = (await verifyAll(scene)).finding ?? {};
  assert.equal(fault, "entry");
  assert.equal(
    message,
    "quorum: its request required 2 approvals with a passkey, and the log has 1",
  );
});

test("[ours.audit.requirement] audit verify names a grant or a rule that approved a request against its requirement", async (t) => {
  for (const [actor, says] of [
    ["grant:made-up", /^grant: its request did not allow grants$/],
    ["policy:made-up", /^actor: its request required reviewers, and policy:made-up approved it$/],
  ] as const) {
    const scene = await startScene(t);
    const { server, instance } = scene;
    await enforce(server, policyAsking("{ grants: false }"));
    const { id } = await server.submit(instance.token);
    await makeUp(scene, id, actor);
    await untilSealed(scene);
    assert.match((await verifyAll(scene)).finding?.message ?? "", says);
  }
});

test("[ours.audit.requirement] audit verify names an approval of a request with a second opening that requires less", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ confirm: passkey }"));
  const { id } = await server.submit(instance.token);
  const project = await projectId(storeOf(scene));
  const at = timeOfId(id) ?? 0;
  const requirement = {
    confirm: "click",
    quorum: 1,
    from: [],
    exclude_owner: false,
    note: false,
    grants: true,
    bots: false,
  } as const;
  await storeOf(scene).transact(async (tx) => {
    // Its id is before that of the first opening.
    await appendAuditAs(tx, firstIdAt(at), {
      at,
      projectId: project,
      kind: "request.opened",
      actor: `instance:${instance.id}`,
      subject: `request:${id}`,
      detail: { requirement },
    });
  });
  await makeUp(scene, id, "reviewer:someone");
  await untilSealed(scene);
  const { fault, kind, message } = (await verifyAll(scene)).finding ?? {};
  assert.deepEqual([fault, kind], ["entry", "request.resolved"]);
  assert.equal(message, "opening: its request was opened more than once");
});

/** Ends a request in every way there is, and leaves one pending. */
async function endAll(scene: PolicyScene): Promise<readonly string[]> {
  const { server, instance, reviewer, editor } = scene;
  const requests: ApprovalRequest[] = [];
  for (const status of TERMINAL) {
    requests.push(await end(scene, await server.submit(instance.token), status));
    scene.clock.advance(1);
  }
  const approving = policyOf('{ id: all, match: { tool: "*" }, then: approve }');
  assert.equal((await publish(server, editor, approving, 0)).status, 201);
  requests.push(await server.submit(instance.token));
  assert.equal((await publish(server, editor, policyOf(), 1)).status, 201);
  const deleted = await server.instance("deleted");
  requests.push(await server.submit(deleted.token));
  const path = `/v1/instances/${deleted.id}`;
  assert.equal((await server.call("DELETE", path, { token: deleted.provisioner })).status, 204);
  const frozen = await server.submit(instance.token);
  const { json } = await freeze(server, reviewer, { scope: "project" });
  assert.equal((await lift(server, reviewer, json.id)).status, 200);
  requests.push(frozen);
  requests.push(await server.submit(instance.token));
  return requests.map(({ id }) => id);
}

test("[ours.audit.requests] audit verify passes a database with every kind of resolved request, and after the retention", async (t) => {
  const scene = await startPolicyScene(t);
  const ids = await endAll(scene);
  await untilSealed(scene);
  await assertVerified(scene);
  scene.clock.advance(168 * HOUR + 1);
  // An entry that commits long after its time is sealed by a scan that runs once a day.
  await until(async () => {
    scene.clock.advance(HOUR);
    await turns();
    if ((await countRequests(scene)) === ids.length) return false;
    return (await countUnsealed(storeOf(scene))) === 0;
  }, "requests are purged, and all entries are sealed");
  await assertVerified(scene);
});

test("[ours.audit.requests] audit verify names a decided request after an older row with a valid MAC replaced its row", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const request = await server.submit(instance.token);
  const before = await requestRow(scene, request.id);
  scene.clock.advance(1);
  await end(scene, request, "denied");
  await untilSealed(scene);
  await overwriteRequest(scene, request.id, before);
  assert.equal((await server.read(instance.token, request.id)).status, "pending");
  const { fault, kind, id, message } = (await verifyAll(scene)).finding ?? {};
  assert.deepEqual([fault, kind, id], ["altered", "request", request.id]);
  assert.equal(message, `request ${id}: its row has the status pending, but the log has denied`);
});

test("[ours.audit.requests] audit verify names a row that was changed, with or without the secret key", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { id } = await end(scene, await server.submit(instance.token), "approved");
  await untilSealed(scene);
  const before = await requestRow(scene, id);
  for (const [name, value, says] of [
    ["status", "denied", "status of its row differs from the entry request.resolved"],
    [
      "expires_at",
      9_999_999_999_999,
      "expires_at of its row differs from the entry request.resolved",
    ],
    [
      "decided_by",
      "reviewer:made-up",
      "decided_by of its row differs from the entry request.resolved",
    ],
    ["note", '"another"', "note_sha256 of its row differs from the entry request.resolved"],
    ["tool", '"another"', "tool_sha256 of its row differs from the entry request.opened"],
    ["arguments", '{"a":1}', "arguments_sha256 of its row differs from the entry request.opened"],
    ["decided_at", Number(before.decided_at) + 1, "no entry request.resolved with the time"],
  ] as const) {
    await overwriteRequest(scene, id, { ...before, [name]: value });
    const { message = "" } = (await verifyAll(scene)).finding ?? {};
    assert.ok(message.startsWith(`request ${id}: `) && message.includes(says), message);
  }
  await overwriteRequest(scene, id, before);
  await assertVerified(scene);
  await tamper(scene, "update request set note = '\"another\"' where id = $1", id);
  assert.match((await verifyAll(scene)).finding?.message ?? "", /no server with the secret key/);
});

test("[ours.audit.requests] audit verify names a request without its row while the row must be kept", async (t) => {
  for (const [status, says] of [
    ["pending", /: its row is missing, but it is pending in the log$/],
    ["denied", /: its row is missing, but it was resolved within the last 168 h$/],
  ] as const) {
    const scene = await startScene(t);
    const { server, instance } = scene;
    const request = await server.submit(instance.token);
    if (status === "denied") await end(scene, request, status);
    await untilSealed(scene);
    await tamper(scene, "delete from request where id = $1", request.id);
    const { fault, id, message } = (await verifyAll(scene)).finding ?? {};
    assert.deepEqual([fault, id], ["missing", request.id]);
    assert.match(message ?? "", says);
  }
});

const AT_ONCE = policyOf('{ id: all, match: { tool: "*" }, then: approve }');

test("[ours.audit.at-once] audit verify names a changed row of a request that was decided at once", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const other = await server.instance();
  await enforce(server, AT_ONCE);
  const { id } = await server.submit(instance.token);
  await untilSealed(scene);
  await assertVerified(scene);
  const before = await requestRow(scene, id);
  const name = "of its row differs from the entry request.resolved";
  for (const [column, value, says] of [
    ["instance_id", other.id, `opened_by ${name}`],
    ["tool", '"another"', `tool_sha256 ${name}`],
    ["arguments", '{"a":1}', `arguments_sha256 ${name}`],
    ["decided_by", "policy:another", `decided_by ${name}`],
    ["decided_at", Number(before.decided_at) + 1, "no entry request.resolved with the time"],
  ] as const) {
    await overwriteRequest(scene, id, { ...before, [column]: value });
    const { message = "" } = (await verifyAll(scene)).finding ?? {};
    assert.ok(message.startsWith(`request ${id}: `) && message.includes(says), message);
  }
});

test("[ours.audit.at-once] audit verify names a missing row or entry of a request that was decided at once", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, AT_ONCE);
  await untilSealed(scene);
  const { id } = await server.submit(instance.token);
  await tamper(scene, "delete from audit_entry where subject = $1", `request:${id}`);
  const lacksEntry = `request ${id}: the log has no entry request.opened with the time of its row`;
  assert.equal((await verifyAll(scene)).finding?.message, lacksEntry);
  await tamper(scene, "delete from request where id = $1", id);
  const next = await server.submit(instance.token);
  await untilSealed(scene);
  await tamper(scene, "delete from request where id = $1", next.id);
  const lacksRow = /: its row is missing, but it was resolved within the last 168 h$/;
  assert.match((await verifyAll(scene)).finding?.message ?? "", lacksRow);
});

test("[ours.audit.at-once] audit verify names a request that was decided at once although it required reviewers", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyAsking("{ quorum: 2 }"));
  const { id } = await server.submit(instance.token);
  const [opened] = await auditOf(scene, `request:${id}`);
  const requirement = opened?.detail.requirement as RecordedRequirement;
  await tamper(scene, "delete from audit_entry where subject = $1", `request:${id}`);
  const detail = { requirement, opened_by: `instance:${instance.id}` };
  await makeUp(scene, id, "policy:all", detail, timeOfId(id));
  await untilSealed(scene);
  const { finding } = await verifyAll(scene);
  assert.equal(finding?.fault, "entry");
  assert.match(finding?.message ?? "", /^actor: its request required reviewers/);
});

/** More than the verification reads at once. */
const MANY_ENTRIES = 220;

test("[ours.audit.requests] audit verify compares a request with a resolution that is far behind its opening", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const first = await server.submit(instance.token, { ...SUBMISSION, timeout: "24h" });
  for (let entries = 0; entries < MANY_ENTRIES; entries += 2) {
    scene.clock.advance(1);
    await end(scene, await server.submit(instance.token), "denied");
  }
  await end(scene, first, "denied");
  await untilSealed(scene);
  await assertVerified(scene);
  await overwriteRequest(scene, first.id, { note: '"another"' });
  const { message } = (await verifyAll(scene)).finding ?? {};
  const says = "note_sha256 of its row differs from the entry request.resolved in the log";
  assert.equal(message, `request ${first.id}: ${says}`);
});

test("[ours.audit.requests] audit verify compares many requests of one millisecond", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const ids: string[] = [];
  for (let i = 0; i < MANY_ENTRIES; i++) ids.push((await server.submit(instance.token)).id);
  assert.equal(new Set(ids.map(timeOfId)).size, 1);
  await untilSealed(scene);
  await assertVerified(scene);
  const last = ids.toSorted().at(-1) ?? "";
  await overwriteRequest(scene, last, { tool: '"another"' });
  const { message } = (await verifyAll(scene)).finding ?? {};
  const says = "tool_sha256 of its row differs from the entry request.opened in the log";
  assert.equal(message, `request ${last}: ${says}`);
});

test("[ours.audit.requests] audit verify names a request with a recent entry that no server wrote", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await untilSealed(scene);
  const { id } = await server.submit(instance.token);
  const sql = "update audit_entry set mac = $2 where subject = $1";
  await tamper(scene, sql, `request:${id}`, "A".repeat(22));
  const { message } = (await verifyAll(scene)).finding ?? {};
  const says = "the log has no entry request.opened with the time of its row";
  assert.equal(message, `request ${id}: ${says}`);
});

test("[ours.audit.requests] audit verify names a row after its entries were deleted before they were sealed", async (t) => {
  for (const kind of ["request.opened", "request.resolved"]) {
    const scene = await startScene(t);
    const { server, instance } = scene;
    await untilSealed(scene);
    const { id } = await end(scene, await server.submit(instance.token), "denied");
    const sql = "delete from audit_entry where kind = $1 and subject = $2";
    await tamper(scene, sql, kind, `request:${id}`);
    const { fault, message } = (await verifyAll(scene)).finding ?? {};
    assert.equal(fault, "missing");
    assert.equal(message, `request ${id}: the log has no entry ${kind} with the time of its row`);
  }
});
