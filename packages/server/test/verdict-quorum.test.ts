/**
 * Requests that more than one person must approve.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { listTokens, revokeToken } from "../src/index.ts";
import { authenticateCaller } from "../src/operations/access/authenticateCaller.ts";
import { castVerdict } from "../src/operations/requests/castVerdict.ts";
import type { Requirement } from "../src/policy/rule.ts";
import { assertRefused } from "./support/envelope.ts";
import { setOwner, setReviewer, submitRequiring } from "./support/requirements.ts";
import { auditOf, cancel, startScene, untilStored } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene({ after }, { settings: { validity_default: "2m" } });
const { server, clock, instance } = scene;
const { context } = server.provider;
const { store } = context;

const NAMES = ["ana", "ben", "cleo", "dan"] as const;

type Name = (typeof NAMES)[number];

const tokens = Object.fromEntries(
  await Promise.all(
    NAMES.map(async (name) => [name, await server.token({ kind: "reviewer", name })]),
  ),
) as Record<Name, string>;

type Reviewed = ReviewedRequest & ErrorResponse;

function approve(name: Name, id: string, fields: object = {}): Promise<Answer<Reviewed>> {
  return server.decide(tokens[name], id, "approve", fields);
}

function deny(name: Name, id: string, fields: object = {}): Promise<Answer<Reviewed>> {
  return server.decide(tokens[name], id, "deny", fields);
}

async function show(id: string, name: Name = "dan"): Promise<Reviewed> {
  const path = `/review/v1/requests/${id}`;
  return (await server.call<Reviewed>("GET", path, { token: tokens[name] })).json;
}

function votersOf({ votes }: ReviewedRequest): string[] {
  return votes.map(({ reviewer }) => reviewer);
}

async function submitAsking(
  requirement: Partial<Requirement>,
  judgement: object = {},
): Promise<string> {
  return (await submitRequiring(scene, requirement, judgement)).id;
}

async function voteRows(id: string): Promise<number> {
  const row = await store.get("select count(*) as n from vote where request_id = $1", [id]);
  return Number(row?.n);
}

test("[ours.verdict.quorum] an approval below the quorum is recorded, and the last one decides", async () => {
  const id = await submitAsking({ quorum: 3 });
  clock.advance(1_000);
  const first = await approve("ana", id, { note: "looks right" });
  assert.equal(first.status, 200);
  assert.equal(first.json.status, "pending");
  assert.equal(first.json.decision, undefined);
  const at = new Date(clock.now()).toISOString();
  assert.deepEqual(first.json.votes, [{ reviewer: "ana", at, note: "looks right" }]);
  assert.equal((await server.read(instance.token, id)).status, "pending");
  clock.advance(1_000);
  assert.deepEqual(votersOf((await approve("ben", id)).json), ["ana", "ben"]);
  clock.advance(1_000);
  const last = await approve("cleo", id, { note: "go" });
  assert.equal(last.json.status, "approved");
  assert.deepEqual(votersOf(last.json), ["ana", "ben", "cleo"]);
  const cleo = await store.get("select id from reviewer where name = 'cleo'");
  assert.equal(last.json.decided_by, `reviewer:${cleo?.id}`);
  assert.equal(last.json.decision?.note, "go");
  assert.equal((await server.read(instance.token, id)).status, "approved");
});

test("[ours.verdict.quorum] approvals of one person with several tokens count as one", async () => {
  const id = await submitAsking({ quorum: 2 });
  await approve("ana", id);
  const other = await server.token({ kind: "reviewer", name: "ana" });
  const again = await server.decide(other, id, "approve");
  assert.deepEqual([again.status, again.json.status], [200, "pending"]);
  assert.equal(again.json.votes.length, 1);
});

test("[ours.verdict.quorum] [ours.verdict.shown] the answer to a voter says that others must approve too", async () => {
  const id = await submitAsking({ quorum: 2 });
  assert.deepEqual((await show(id, "ana")).may_decide, { approve: true, deny: true });
  await approve("ana", id);
  const reason = "You have approved this call. It needs more approvals.";
  assert.deepEqual((await show(id, "ana")).may_decide, { approve: false, deny: true, reason });
  assert.deepEqual((await show(id, "ben")).may_decide, { approve: true, deny: true });
});

test("[ours.verdict.recorded] a vote that is sent again is answered the same and recorded once", async () => {
  const id = await submitAsking({ quorum: 2 });
  const first = await approve("ana", id, { note: "once", valid_for: "30s" });
  clock.advance(5_000);
  const again = await approve("ana", id, { note: "once", valid_for: "30s" });
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal((await auditOf(scene, `request:${id}`)).length, 2);
  const last = await approve("ben", id, { note: "twice" });
  const late = await approve("ana", id, { note: "once", valid_for: "30s" });
  assert.deepEqual([late.status, late.text], [200, last.text]);
  assert.equal((await approve("ben", id, { note: "twice" })).text, last.text);
  for (const fields of [{ note: "other" }, {}]) {
    assertRefused(await approve("ana", id, fields), 409, "already_terminal");
  }
  assertRefused(await approve("cleo", id), 409, "already_terminal");
  assertRefused(await deny("ana", id, { note: "once" }), 409, "already_terminal");
  assert.equal((await show(id)).decided_by, last.json.decided_by);
});

test("[ours.verdict.recorded] another note or validity replaces the earlier one, and all are in the log", async () => {
  const id = await submitAsking({ quorum: 2 });
  await approve("ana", id, { note: "one" });
  clock.advance(1_000);
  const { votes } = (await approve("ana", id, { note: "two" })).json;
  assert.deepEqual(
    votes.map(({ note }) => note),
    ["two"],
  );
  await approve("ana", id, { note: "two", valid_for: "30s" });
  const [opened, ...cast] = await auditOf(scene, `request:${id}`);
  assert.equal(opened?.kind, "request.opened");
  assert.deepEqual(
    cast.map(({ kind, detail }) => [kind, detail.validity_ms]),
    [
      ["vote.cast", null],
      ["vote.cast", null],
      ["vote.cast", 30_000],
    ],
  );
});

test("[ours.verdict.recorded] every vote has its row, and the decision names the voters", async () => {
  const id = await submitAsking({ quorum: 2 });
  clock.advance(10);
  await approve("ana", id, { note: "a", valid_for: "30s" });
  clock.advance(10);
  await approve("ben", id);
  const [, first, second, resolved, ...more] = await auditOf(scene, `request:${id}`);
  assert.deepEqual(more, []);
  const ids = await Promise.all(
    ["ana", "ben"].map(async (name) => {
      return String((await store.get("select id from reviewer where name = $1", [name]))?.id);
    }),
  );
  assert.deepEqual(
    [first, second].map((row) => [row?.kind, row?.actor, row?.at]),
    [
      ["vote.cast", `reviewer:${ids[0]}`, clock.now() - 10],
      ["vote.cast", `reviewer:${ids[1]}`, clock.now()],
    ],
  );
  assert.equal(first?.detail.validity_ms, 30_000);
  assert.match(String(first?.detail.note_sha256), /^[0-9a-f]{64}$/);
  assert.equal(first?.detail.arguments_sha256, resolved?.detail.arguments_sha256);
  assert.equal(resolved?.kind, "request.resolved");
  assert.equal(resolved?.actor, `reviewer:${ids[1]}`);
  assert.deepEqual(resolved?.detail.voters, ids);
});

test("[ours.verdict.quorum] one denial resolves the request, also by a reviewer who had approved", async () => {
  for (const name of ["ana", "cleo"] as const) {
    const id = await submitAsking({ quorum: 3 });
    await approve("ana", id);
    await approve("ben", id);
    const denied = await deny(name, id, { note: "no" });
    assert.equal(denied.json.status, "denied");
    assert.equal(denied.json.decision?.note, "no");
    assertRefused(await approve("dan", id), 409, "already_terminal");
    assertRefused(await approve("ana", id), 409, "already_terminal");
  }
});

test("[ours.verdict.quorum] every set needs a member among the approving reviewers", async (t) => {
  t.after(() => Promise.all(NAMES.map((name) => setReviewer(store, name, { groups: [] }))));
  await setReviewer(store, "ana", { groups: ["dba"] });
  await setReviewer(store, "ben", { groups: ["dba"] });
  await setReviewer(store, "cleo", { groups: ["lead"] });
  const from = [["group:dba"], ["group:lead"]];
  const id = await submitAsking({ from });
  assertRefused(await approve("dan", id), 403, "forbidden");
  assert.equal((await approve("ana", id)).json.status, "pending");
  assert.equal((await approve("ben", id)).json.status, "pending");
  assert.equal((await approve("cleo", id)).json.status, "approved");

  const alone = await submitAsking({ from });
  await setReviewer(store, "ben", { groups: ["dba", "lead"] });
  assert.equal((await approve("ben", alone)).json.status, "approved");
  const two = await submitAsking({ from, quorum: 2 });
  assert.equal((await approve("ben", two)).json.status, "pending");
  assert.equal((await approve("ana", two)).json.status, "approved");
});

test("[ours.verdict.quorum] a vote counts only while its voter has the group, the role and a token", async (t) => {
  const reset = { groups: [], role: "reviewer" };
  t.after(() => Promise.all(NAMES.map((name) => setReviewer(store, name, reset))));
  for (const name of NAMES) await setReviewer(store, name, { groups: ["ops"] });
  const requirement = { quorum: 2, from: [["group:ops"]] };
  const losses: readonly (readonly [lose: () => Promise<void>, regain: () => Promise<void>])[] = [
    [
      () => setReviewer(store, "ana", { groups: [] }),
      () => setReviewer(store, "ana", { groups: ["ops"] }),
    ],
    [
      () => setReviewer(store, "ana", { role: "viewer" }),
      () => setReviewer(store, "ana", { role: "admin" }),
    ],
  ];
  for (const [lose, regain] of losses) {
    const id = await submitAsking(requirement);
    await approve("ana", id);
    await lose();
    assert.equal((await approve("ben", id)).json.status, "pending");
    await regain();
    assert.equal((await approve("ben", id)).json.status, "approved", "the same vote, again");
    const other = await submitAsking(requirement);
    await approve("ana", other);
    await lose();
    await approve("ben", other);
    const { json } = await approve("cleo", other);
    assert.equal(json.status, "approved");
    const { voters } = (await auditOf(scene, `request:${other}`)).at(-1)?.detail ?? {};
    assert.equal((voters as string[]).length, 2, "only the counted voters are named");
    await regain();
  }
});

test("[ours.verdict.quorum] the vote of a reviewer without an active token does not count", async () => {
  const token = await server.token({ kind: "reviewer", name: "leaver" });
  // They are listed by their age.
  clock.advance(1);
  const second = await server.token({ kind: "reviewer", name: "leaver" });
  const live = (await listTokens(context)).filter(({ name }) => name === "leaver");
  const id = await submitAsking({ quorum: 2 });
  await server.decide(token, id, "approve");
  await revokeToken(context, live[0]?.id ?? "");
  const other = await submitAsking({ quorum: 2 });
  await server.decide(second, other, "approve");
  assert.equal((await approve("ana", other)).json.status, "approved", "one token is left");
  await revokeToken(context, live[1]?.id ?? "");
  assert.equal((await approve("ana", id)).json.status, "pending");
  assert.equal((await approve("ben", id)).json.status, "approved");

  const expiresAt = clock.now() + 60_000;
  const brief = await server.token({ kind: "reviewer", name: "brief", expiresAt });
  const third = await submitAsking({ quorum: 2 });
  await server.decide(brief, third, "approve");
  clock.advance(60_000);
  assert.equal((await approve("ana", third)).json.status, "pending");
});

test("[ours.verdict.quorum] [ours.verdict.from] a reviewer who lost role or token while the verdict was on its way is rejected", async (t) => {
  t.after(() => setReviewer(store, "eve", { role: "reviewer" }));
  const token = await server.token({ kind: "reviewer", name: "eve" });
  const id = await submitAsking({ quorum: 2 });
  const { arguments_sha256: argumentsSha256 } = await show(id);
  const caller = await authenticateCaller(context, `Bearer ${token}`);
  assert.ok(caller.kind === "reviewer");
  const absent = { note: undefined, validityMs: undefined, confirmation: undefined };
  const verdict = { verdict: "approve", argumentsSha256, ...absent } as const;
  const cast = () => castVerdict(context, caller, id, verdict);
  await setReviewer(store, "eve", { role: "viewer" });
  await assert.rejects(cast, { code: "forbidden" });
  await setReviewer(store, "eve", { role: "reviewer" });
  await revokeToken(context, caller.credentialId);
  await assert.rejects(cast, { code: "invalid_credential" });
  assert.equal(await voteRows(id), 0);
});

test("[ours.verdict.owner] the vote of a reviewer who became the owner does not count", async (t) => {
  t.after(() => setOwner(store, instance.id, null));
  await setOwner(store, instance.id, "dan");
  const id = await submitAsking({ quorum: 2, excludeOwner: true });
  await approve("ana", id);
  await setOwner(store, instance.id, "ana");
  assert.equal((await approve("ben", id)).json.status, "pending");
  assert.equal((await approve("cleo", id)).json.status, "approved");
});

test("[ours.verdict.validity] the shortest of all votes, the rule and the default holds", async () => {
  const validity = ({ json }: Answer<Reviewed>) =>
    Date.parse(json.decision?.expires_at ?? "") - Date.parse(json.decision?.decided_at ?? "");
  const cases: readonly (readonly [object, string | undefined, string | undefined, number])[] = [
    [{}, "30s", "3m", 30_000],
    [{}, "3m", "30s", 30_000],
    [{}, "3m", undefined, 120_000],
    [{}, "3m", "4m", 180_000],
    [{ validityMs: 10_000 }, undefined, undefined, 10_000],
    [{ validityMs: 10_000 }, "5s", undefined, 5_000],
  ];
  for (const [judgement, first, second, ms] of cases) {
    const id = await submitAsking({ quorum: 2 }, judgement);
    await approve("ana", id, { valid_for: first });
    assert.equal(validity(await approve("ben", id, { valid_for: second })), ms);
  }
});

test("[ours.verdict.note] [ours.verdict.confirmation] every voter brings note and confirmation along", async () => {
  const confirm = { kind: "type", text: "prod" } as const;
  const id = await submitAsking({ quorum: 2, noteRequired: true, confirm });
  await approve("ana", id, { note: "a", confirmation: "prod" });
  assertRefused(await approve("ben", id, { confirmation: "prod" }), 400, "invalid_request", "note");
  const bare = await approve("ben", id, { note: "b" });
  assertRefused(bare, 400, "invalid_request", "confirmation");
  assert.equal(await voteRows(id), 1);
  const last = await approve("ben", id, { note: "b", confirmation: "prod" });
  assert.equal(last.json.status, "approved");
});

test("[ours.retention.erased] votes are purged with their request, for every outcome", async (t) => {
  const own = await startScene(t);
  const ids: string[] = [];
  for (const ending of ["approve", "deny", "cancel"] as const) {
    const { id } = await submitRequiring(own, { quorum: 2 });
    await own.server.decide(own.reviewer, id, "approve");
    const other = await own.server.token({ kind: "reviewer", name: "other" });
    if (ending === "cancel") await cancel(own.server, own.instance.token, id);
    else await own.server.decide(other, id, ending);
    ids.push(id);
  }
  const count = async () =>
    Number((await own.server.provider.context.store.get("select count(*) as n from vote"))?.n);
  assert.equal(await count(), 4);
  own.clock.advance(168 * 3_600_000 + 10 * 60_000);
  for (const id of ids) await untilStored(own, id, undefined);
  assert.equal(await count(), 0);
});
