/**
 * The requirements of a rule for its approvers: who may approve, and the fields of the approval.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import type { Requirement } from "../src/policy/rule.ts";
import { assertRefused } from "./support/envelope.ts";
import { ASK_JUDGEMENT, setOwner, setReviewer, submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene(
  { after },
  { settings: { validity_default: "2m", validity_max: "1h" } },
);
const { server, clock, instance, reviewer } = scene;
const { store } = server.provider.context;

const ana = await server.token({ kind: "reviewer", name: "ana" });
const dan = await server.token({ kind: "reviewer", name: "dan" });
await setReviewer(store, "dan", { groups: ["dba"] });

type Reviewed = ReviewedRequest & ErrorResponse;

function submitAsking(requirement: Partial<Requirement>, judgement: object = {}) {
  return submitRequiring(scene, requirement, judgement);
}

function show(id: string, token: string): Promise<Answer<Reviewed>> {
  return server.call("GET", `/review/v1/requests/${id}`, { token });
}

async function assertPending(id: string): Promise<void> {
  assert.equal((await server.read(instance.token, id)).status, "pending");
}

/** A refusal says what was said before to the same reviewer. */
async function assertForbidden(id: string, token: string, pattern: RegExp): Promise<void> {
  const { may_decide } = (await show(id, token)).json;
  assert.equal(may_decide.approve, false);
  const answer = await server.decide(token, id, "approve");
  assertRefused(answer, 403, "forbidden");
  assert.match(answer.json.error.message, pattern);
  assert.equal(may_decide.reason, answer.json.error.message);
  await assertPending(id);
}

test("[ours.verdict.shown] a reviewer sees why the call needs a decision and its requirements", async () => {
  const requirement: Requirement = {
    from: [["group:dba", "reviewer:ana"], ["group:lead"]],
    quorum: 2,
    excludeOwner: true,
    confirm: { kind: "type", text: "prod" },
    noteRequired: true,
    withinMs: 5_000,
    grants: false,
    bots: false,
  };
  const errors = [{ rule: "other", message: "no such key" }];
  const { id } = await submitAsking(requirement, { errors, validityMs: 90_000 });
  const { json } = await show(id, reviewer);
  assert.deepEqual(json.policy, {
    verdict: "ask",
    because: "production",
    fired: ["floor/all", "production"],
    errors,
    versions: { project: ASK_JUDGEMENT.project, floor: ASK_JUDGEMENT.floor },
    note: "Production is watched.",
  });
  assert.deepEqual(json.requirement, {
    from: requirement.from,
    quorum: 2,
    exclude: ["owner"],
    confirm: { kind: "type", text: "prod" },
    note: "required",
    grants: false,
    bots: false,
    valid_for_max: "90s",
  });
  const listing = await server.call<{ requests: ReviewedRequest[] }>("GET", "/review/v1/requests", {
    token: reviewer,
  });
  // A list has the time once, for all of them.
  const { now: _, ...listed } = json;
  assert.deepEqual(
    listing.json.requests.find((one) => one.id === id),
    listed,
  );
  const seen = await server.call("GET", `/v1/requests/${id}`, { token: instance.token });
  assert.doesNotMatch(seen.text, /policy|requirement|may_decide|group:dba/);
});

test("[ours.verdict.from] only reviewers that the rule names by group or name may decide", async () => {
  const { id } = await submitAsking({ from: [["group:dba", "reviewer:ana"]] });
  await assertForbidden(id, reviewer, /^Only group:dba, reviewer:ana may decide this call\.$/);
  assertRefused(await server.decide(reviewer, id, "deny"), 403, "forbidden");
  await assertPending(id);
  assert.deepEqual((await show(id, dan)).json.may_decide, { approve: true, deny: true });
  assert.equal((await server.decide(dan, id, "approve")).json.status, "approved");

  const other = await submitAsking({ from: [["group:dba", "reviewer:ana"]] });
  assert.equal((await server.decide(ana, other.id, "deny")).json.status, "denied");
});

test("[ours.verdict.from] groups and role hold as they are at the verdict", async () => {
  const eve = await server.token({ kind: "reviewer", name: "eve" });
  const { id } = await submitAsking({ from: [["group:ops"]] });
  await assertForbidden(id, eve, /group:ops/);
  await setReviewer(store, "eve", { groups: ["ops"], role: "viewer" });
  await assertForbidden(id, eve, /cannot decide them/);
  await setReviewer(store, "eve", { role: "admin" });
  assert.equal((await server.decide(eve, id, "approve")).status, 200);
});

test("[ours.review.role] the roles reviewer, admin and operator decide, viewer and editor only read", async () => {
  for (const role of ["viewer", "editor", "reviewer", "admin", "operator"] as const) {
    const token = await server.token({ kind: "reviewer", name: `as ${role}`, role });
    const mayDecide = role !== "viewer" && role !== "editor";
    for (const verdict of ["approve", "deny"] as const) {
      const { id } = await server.submit(instance.token);
      const { approve, deny } = (await show(id, token)).json.may_decide;
      assert.deepEqual([approve, deny], [mayDecide, mayDecide], role);
      const answer = await server.decide(token, id, verdict);
      if (mayDecide) assert.equal(answer.status, 200, role);
      else assertRefused(answer, 403, "forbidden");
    }
  }
});

test("[ours.verdict.owner] an excluded owner may deny and not approve, others may", async () => {
  await setOwner(store, instance.id, "ana");
  const { id } = await submitAsking({ excludeOwner: true });
  await assertForbidden(id, ana, /^The owner of the instance may not approve this call\.$/);
  assert.deepEqual((await show(id, ana)).json.may_decide.deny, true);
  assert.equal((await server.decide(dan, id, "approve")).json.status, "approved");

  const named = await submitAsking({ excludeOwner: true, from: [["group:dba"]] });
  assert.equal((await server.decide(ana, named.id, "deny")).json.status, "denied");
});

test("[ours.verdict.owner] an excluded owner without an owner on the instance blocks approvals", async () => {
  await setOwner(store, instance.id, null);
  const { id } = await submitAsking({ excludeOwner: true });
  const hint = `countersign instances set ${instance.id} --owner NAME`;
  await assertForbidden(id, dan, new RegExp(hint));
  assert.equal((await server.decide(dan, id, "deny")).json.status, "denied");
});

test("[ours.verdict.note] when a note is required, an approval without a visible note is rejected", async () => {
  const { id } = await submitAsking({ noteRequired: true });
  for (const fields of [{}, { note: " \n" }, { note: "\u200b\u3164" }]) {
    const answer = await server.decide(ana, id, "approve", fields);
    assertRefused(answer, 400, "invalid_request", "note");
  }
  await assertPending(id);
  assert.equal((await server.decide(ana, id, "approve", { note: "checked" })).status, 200);
  const other = await submitAsking({ noteRequired: true });
  assert.equal((await server.decide(ana, other.id, "deny")).json.status, "denied");
});

test("[ours.verdict.confirmation] the confirmation text must be typed exactly", async () => {
  const { id } = await submitAsking({ confirm: { kind: "type", text: "Prod é" } });
  for (const confirmation of [undefined, "prod é", "Prod é ", "Prod e\u0301", "yes"]) {
    const answer = await server.decide(ana, id, "approve", { confirmation });
    assertRefused(answer, 400, "invalid_request", "confirmation");
  }
  await assertPending(id);
  const approved = await server.decide(ana, id, "approve", { confirmation: "Prod é" });
  assert.equal(approved.json.status, "approved");
});

test("[ours.verdict.confirmation] a match is the end of the request's id", async () => {
  const wrongs = [
    (id: string) => [undefined, id, id.slice(-5)],
    (id: string) => [undefined, id.slice(-3), "zzzz"],
  ];
  for (const wrong of wrongs) {
    const { id } = await submitAsking({ confirm: { kind: "match" } });
    for (const confirmation of wrong(id)) {
      const answer = await server.decide(ana, id, "approve", { confirmation });
      assertRefused(answer, 400, "invalid_request", "confirmation");
    }
    const confirmation = id.slice(-4);
    assert.equal((await server.decide(ana, id, "approve", { confirmation })).status, 200);
  }
});

test("[ours.passkey.people] a token cannot approve a request that requires a passkey, with the reason", async () => {
  const { id } = await submitAsking({ confirm: { kind: "passkey" } });
  await assertForbidden(id, ana, /Sign in with a browser/);
  assert.equal((await server.decide(ana, id, "deny")).json.status, "denied");
});

test("[ours.verdict.validity] the rule's validity is the longest that an approval may be used", async () => {
  const validity = ({ json }: Answer<Reviewed>) =>
    Date.parse(json.decision?.expires_at ?? "") - Date.parse(json.decision?.decided_at ?? "");
  const short = await submitAsking({}, { validityMs: 60_000 });
  const tooLong = await server.decide(ana, short.id, "approve", { valid_for: "61s" });
  assertRefused(tooLong, 400, "invalid_request", "valid_for");
  assert.match(tooLong.json.error.message, /between 1s and 60s/);
  assert.equal(validity(await server.decide(ana, short.id, "approve")), 60_000);
  const shortened = await submitAsking({}, { validityMs: 60_000 });
  const fields = { valid_for: "10s" };
  assert.equal(validity(await server.decide(ana, shortened.id, "approve", fields)), 10_000);
  const long = await submitAsking({}, { validityMs: 86_400_000 });
  assert.equal(validity(await server.decide(ana, long.id, "approve")), 120_000, "the default");
  const longest = await submitAsking({}, { validityMs: 86_400_000 });
  const answer = await server.decide(ana, longest.id, "approve", { valid_for: "2h" });
  assertRefused(answer, 400, "invalid_request", "valid_for");
});

test("[ours.review.approve] an approval that met its requirement can be sent again", async () => {
  const { id } = await submitAsking({ noteRequired: true, confirm: { kind: "match" } });
  const fields = { note: "checked", confirmation: id.slice(-4) };
  const first = await server.decide(ana, id, "approve", fields);
  clock.advance(1_000);
  const again = await server.decide(ana, id, "approve", fields);
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal((await auditOf(scene, `request:${id}`)).length, 2);
});

test("[ours.review.past-deadline] a verdict after the deadline reports the deadline before any other fault", async () => {
  const requirement = { from: [["group:dba"]], noteRequired: true, quorum: 2 };
  for (const token of [reviewer, dan]) {
    for (const verdict of ["approve", "deny"] as const) {
      const request = await submitAsking(requirement);
      const { arguments_sha256 } = (await show(request.id, token)).json;
      clock.set(Date.parse(request.deadline_at));
      const path = `/review/v1/requests/${request.id}/verdict`;
      const answer = await server.call("POST", path, {
        token,
        body: { verdict, arguments_sha256 },
      });
      assertRefused(answer, 409, "already_terminal");
      assert.equal((await server.read(instance.token, request.id)).status, "expired");
    }
  }
});
