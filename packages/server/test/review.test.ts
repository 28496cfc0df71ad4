import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { auditOf, end, startScene, TERMINAL } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene(
  { after },
  { settings: { validity_default: "2m", validity_max: "1h" } },
);
const { server, clock, instance, reviewer } = scene;

type Reviewed = ReviewedRequest & ErrorResponse;

function show(id: string, token = reviewer): Promise<Answer<Reviewed>> {
  return server.call("GET", `/review/v1/requests/${id}`, { token });
}

function cast(id: string, body: unknown, token = reviewer): Promise<Answer<Reviewed>> {
  return server.call("POST", `/review/v1/requests/${id}/verdict`, { token, body });
}

/** A pending request and the body of a good verdict on it. */
async function pending(): Promise<{ id: string; deadline_at: string; body: object }> {
  const { id, deadline_at } = await server.submit(instance.token);
  const { arguments_sha256 } = (await show(id)).json;
  return { id, deadline_at, body: { verdict: "approve", arguments_sha256 } };
}

async function assertPending(id: string): Promise<void> {
  assert.equal((await server.read(instance.token, id)).status, "pending");
}

/** How long after its decision an approval ends, in milliseconds. */
function validity({ json }: Answer<Reviewed>): number {
  const { expires_at = "", decided_at = "" } = json.decision ?? {};
  return Date.parse(expires_at) - Date.parse(decided_at);
}

test("[ours.review.show] a reviewer sees the contract's fields, the instance, and the digest of the exact arguments", async () => {
  const args = '{ "n" : 1.0, "s":"\\u0041\\u00e9é" }';
  const rest = '"tool":"t","timeout":"1h","agent_reasoning":"why","context":{"a":-0}';
  const body = `{${rest},"arguments":${args}}`;
  const call = { token: instance.token, key: server.freshKey(), body };
  const { json, text } = await server.call<ReviewedRequest>("POST", "/v1/requests", call);
  const shown = await show(json.id);
  assert.equal(shown.status, 200);
  assert.ok(shown.text.startsWith(text.slice(0, -1)), "the contract's resource, letter for letter");
  const { policy, requirement, votes, may_decide, ...asked } = shown.json;
  const { instance: owner, arguments_sha256, decided_by, line, signals, now, ...resource } = asked;
  assert.deepEqual(resource, json);
  assert.equal(line?.text, "n: 1.0, s: Aéé");
  assert.equal(signals, undefined, "a harmless call has none");
  assert.equal(owner.id, instance.id);
  assert.match(owner.name, /./);
  assert.equal(arguments_sha256, createHash("sha256").update(args, "utf8").digest("hex"));
  assert.equal(decided_by, undefined);
  assert.equal(now, new Date(clock.now()).toISOString());
  assert.deepEqual(policy, {
    verdict: "ask",
    because: "no-policy",
    fired: [],
    errors: [],
    versions: { project: null, floor: null },
  });
  assert.deepEqual(requirement, {
    from: [],
    quorum: 1,
    exclude: [],
    confirm: { kind: "click" },
    note: "optional",
    grants: true,
    bots: false,
  });
  assert.deepEqual(votes, []);
  assert.deepEqual(may_decide, { approve: true, deny: true });
});

test("[ours.review.show] a request that does not exist returns 404", async () => {
  for (const id of [randomUUID(), instance.id, "x", "1"]) {
    assertRefused(await show(id), 404, "not_found");
  }
});

test("[ours.review.approve] an approval ends a pending request with note and validity", async () => {
  const { id, body } = await pending();
  clock.advance(777);
  const answer = await cast(id, { ...body, note: "só this once\n", valid_for: "90s" });
  assert.equal(answer.status, 200);
  const decided_at = new Date(clock.now()).toISOString();
  const expires_at = new Date(clock.now() + 90_000).toISOString();
  const decision = { status: "approved", note: "só this once\n", decided_at, expires_at };
  assert.deepEqual(answer.json.decision, decision);
  assert.deepEqual((await server.read(instance.token, id)).decision, decision);
  assert.equal(answer.json.decider, "reviewer");
  const now = new Date(clock.now()).toISOString();
  assert.deepEqual((await show(id)).json, { ...answer.json, now });
});

test("[ours.review.deny] a denial ends a pending request with its note", async () => {
  const { id, body } = await pending();
  const answer = await cast(id, { ...body, verdict: "deny", note: "no" });
  assert.equal(answer.status, 200);
  const decided_at = new Date(clock.now()).toISOString();
  const { status, decision } = await server.read(instance.token, id);
  assert.equal(status, "denied");
  assert.deepEqual(decision, { status: "denied", note: "no", decided_at });
});

test("[ours.review.approve] [ours.review.deny] a repeated verdict of the same reviewer returns the stored decision", async () => {
  for (const verdict of ["approve", "deny"]) {
    const { id, body } = await pending();
    const first = await cast(id, { ...body, verdict, note: "once" });
    clock.advance(1_000);
    const again = await cast(id, { ...body, verdict, note: "once" });
    assert.equal(again.status, 200);
    assert.equal(again.text, first.text);
    assert.equal((await auditOf(scene, `request:${id}`)).length, 2);
  }
});

test("[ours.review.digest-mismatch] a verdict on other arguments than the stored ones returns 409 and decides nothing", async () => {
  const { id, body } = await pending();
  const other = createHash("sha256").update('{"env": "prod"}').digest("hex");
  for (const arguments_sha256 of [other, "0".repeat(64), "f".repeat(64)]) {
    for (const verdict of ["approve", "deny"]) {
      const answer = await cast(id, { ...body, verdict, arguments_sha256 });
      assertRefused(answer, 409, "arguments_mismatch", "arguments_sha256");
    }
  }
  await assertPending(id);
  assert.equal((await auditOf(scene, `request:${id}`)).length, 1);
  assert.equal((await cast(id, body)).status, 200);
});

test("[ours.review.finished] a verdict on a resolved request returns 409 and changes nothing", async () => {
  const other = await server.token({ kind: "reviewer", name: "other" });
  for (const status of TERMINAL) {
    const ended = await end(scene, await server.submit(instance.token), status);
    const { text, json } = await show(ended.id);
    const { arguments_sha256 } = json;
    for (const verdict of ["approve", "deny"]) {
      const answer = await cast(ended.id, { verdict, arguments_sha256, note: "late" }, other);
      assertRefused(answer, 409, "already_terminal");
      const bare = await cast(ended.id, { verdict, arguments_sha256 }, other);
      assertRefused(bare, 409, "already_terminal");
    }
    assert.equal((await show(ended.id)).text, text);
  }
});

test("[ours.review.finished] the same reviewer cannot turn a verdict round or change its note", async () => {
  const { id, body } = await pending();
  const first = await cast(id, { ...body, note: "one" });
  const changes = [{ verdict: "deny", note: "one" }, { note: "two" }, {}];
  for (const change of changes) {
    assertRefused(await cast(id, { ...body, ...change }), 409, "already_terminal");
  }
  assert.ok((await show(id)).text.startsWith(first.text.slice(0, -1)));
});

test("[ours.review.past-deadline] a verdict at or after the deadline is rejected, and the request expires", async () => {
  for (const late of [0, 1, 3_600_000]) {
    for (const verdict of ["approve", "deny"]) {
      const { id, deadline_at, body } = await pending();
      clock.set(Date.parse(deadline_at) + late);
      assertRefused(await cast(id, { ...body, verdict }), 409, "already_terminal");
      const { status, decision } = await server.read(instance.token, id);
      assert.equal(status, "expired");
      assert.equal(decision?.status, "expired");
    }
  }
});

test("[ours.review.validity-bounds] without a validity the operator's default holds", async () => {
  const { id, body } = await pending();
  assert.equal(validity(await cast(id, body)), 120_000);
});

test("[ours.review.validity-bounds] the limits themselves are accepted, values beyond them are rejected", async () => {
  const bounds = { "1s": 1_000, "60m": 3_600_000, "3600s": 3_600_000, "1h": 3_600_000 };
  for (const [valid_for, ms] of Object.entries(bounds)) {
    const { id, body } = await pending();
    assert.equal(validity(await cast(id, { ...body, valid_for })), ms);
  }
  const { id, body } = await pending();
  for (const valid_for of ["3601s", "61m", "2h", `${"9".repeat(400)}h`]) {
    const answer = await cast(id, { ...body, valid_for });
    assertRefused(answer, 400, "invalid_request", "valid_for");
  }
  await assertPending(id);
});

test("[ours.review.input] a verdict with unknown, missing or wrong fields names the field", async () => {
  const { id, body } = await pending();
  const cases: readonly (readonly [object, string])[] = [
    [{ verdict: undefined }, "verdict"],
    [{ verdict: null }, "verdict"],
    [{ verdict: "approved" }, "verdict"],
    [{ verdict: "Approve" }, "verdict"],
    [{ verdict: ["approve"] }, "verdict"],
    [{ verdict: "" }, "verdict"],
    [{ arguments_sha256: undefined }, "arguments_sha256"],
    [{ arguments_sha256: null }, "arguments_sha256"],
    [{ arguments_sha256: "" }, "arguments_sha256"],
    [{ arguments_sha256: "0".repeat(63) }, "arguments_sha256"],
    [{ arguments_sha256: "A".repeat(64) }, "arguments_sha256"],
    [{ note: null }, "note"],
    [{ note: "" }, "note"],
    [{ note: 1 }, "note"],
    [{ note: "x".repeat(10_001) }, "note"],
    [{ valid_for: null }, "valid_for"],
    [{ valid_for: 60 }, "valid_for"],
    [{ valid_for: "0s" }, "valid_for"],
    [{ valid_for: "soon" }, "valid_for"],
    [{ verdict: "deny", valid_for: "5m" }, "valid_for"],
    [{ confirmation: "" }, "confirmation"],
    [{ confirmation: 1 }, "confirmation"],
    [{ verdict: "deny", confirmation: "prod" }, "confirmation"],
    [{ reviewer: "somebody else" }, "reviewer"],
    [{ decided_by: "reviewer:x" }, "decided_by"],
    [{ arguments: {} }, "arguments"],
  ];
  for (const [change, param] of cases) {
    assertRefused(await cast(id, { ...body, ...change }), 400, "invalid_request", param);
  }
  for (const text of ["[]", "null", '"approve"']) {
    assertRefused(await cast(id, text), 400, "invalid_request", "body");
  }
  assertRefused(await cast(id, "{"), 400, "invalid_json", "body");
  const twice = '{"verdict":"deny","verdict":"approve"}';
  assertRefused(await cast(id, twice), 400, "duplicate_key", "verdict");
  await assertPending(id);
});

test("[ours.review.role] a viewer sees requests but cannot give a verdict", async () => {
  const viewer = await server.token({ kind: "reviewer", name: "viewer", role: "viewer" });
  const { id, body } = await pending();
  assert.equal((await show(id, viewer)).status, 200);
  const listing = await server.call("GET", "/review/v1/requests", { token: viewer });
  assert.equal(listing.status, 200);
  for (const verdict of ["approve", "deny"]) {
    assertRefused(await cast(id, { ...body, verdict }, viewer), 403, "forbidden");
  }
  await assertPending(id);
});

test("[ours.review.credential-kinds] provisioner tokens and instance credentials are rejected on the reviewer surface", async () => {
  const { id, body } = await pending();
  const listing = (token: string) => server.call("GET", "/review/v1/requests", { token });
  for (const token of [instance.token, instance.provisioner]) {
    const answers = [await listing(token), await show(id, token), await cast(id, body, token)];
    for (const answer of answers) assertRefused(answer, 403, "wrong_credential_kind");
  }
  for (const token of ["", "nonsense", `${reviewer.slice(0, -1)}!`]) {
    const answers = [await listing(token), await show(id, token), await cast(id, body, token)];
    for (const answer of answers) assertRefused(answer, 401, "invalid_credential");
  }
  await assertPending(id);
});

test("[ours.review.identity] the reviewer comes from the token and is recorded with the verdict", async () => {
  const tokens = {
    ada: await server.token({ kind: "reviewer", name: "ada" }),
    "ada, rotated": await server.token({ kind: "reviewer", name: "ada" }),
    grace: await server.token({ kind: "reviewer", name: "grace" }),
  };
  const deciders = new Map<string, string>();
  for (const [name, token] of Object.entries(tokens)) {
    const { id, body } = await pending();
    const { json } = await cast(id, body, token);
    const decidedBy = json.decided_by ?? "";
    assert.match(decidedBy, /^reviewer:[0-9a-f-]{36}$/);
    const [, resolved] = await auditOf(scene, `request:${id}`);
    assert.equal(resolved?.actor, decidedBy);
    deciders.set(name, decidedBy);
    const seen = await server.call("GET", `/v1/requests/${id}`, { token: instance.token });
    assert.doesNotMatch(seen.text, /reviewer/);
  }
  assert.equal(deciders.get("ada"), deciders.get("ada, rotated"));
  assert.notEqual(deciders.get("ada"), deciders.get("grace"));
});

test("[ours.review.identity] a resolution without a reviewer names its cause", async () => {
  const cancelled = await end(scene, await server.submit(instance.token), "cancelled");
  assert.equal((await show(cancelled.id)).json.decided_by, `instance:${instance.id}`);
  const expired = await end(scene, await server.submit(instance.token), "expired");
  assert.equal((await show(expired.id)).json.decided_by, "system:deadline");
});
