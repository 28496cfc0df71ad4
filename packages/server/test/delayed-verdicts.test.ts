/**
 * Verdicts that are held before they are given: until then a request is pending for everybody, and
 * its reviewer can take the verdict back.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { setReviewer, submitRequiring } from "./support/requirements.ts";
import { auditOf, cancel, restart, type Scene, startScene, untilStored } from "./support/scene.ts";
import type { Answer, ReviewedRequest } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, instance, reviewer } = scene;
const { store } = server.provider.context;

type Reviewed = ReviewedRequest &
  ErrorResponse & {
    readonly held?: {
      readonly verdict: string;
      readonly note?: string;
      readonly held_at: string;
      readonly commits_at: string;
    };
  };

const show = (id: string, token = reviewer): Promise<Answer<Reviewed>> =>
  server.call("GET", `/review/v1/requests/${id}`, { token });

async function send(
  id: string,
  verdict: string,
  fields: object = { hold: "5s" },
  { token = reviewer, at = server } = {},
): Promise<Answer<Reviewed>> {
  const { arguments_sha256 } = (await show(id)).json;
  const body = { verdict, arguments_sha256, ...fields };
  return at.call("POST", `/review/v1/requests/${id}/verdict`, { token, body });
}

const takeBack = (id: string, token = reviewer): Promise<Answer<{ taken_back: boolean }>> =>
  server.call("DELETE", `/review/v1/requests/${id}/held`, { token });

const kindsOf = async (id: string, of: Pick<Scene, "server"> = scene): Promise<string[]> =>
  (await auditOf(of, `request:${id}`)).map(({ kind }) => kind);

async function lapsed(id: string): Promise<Readonly<Record<string, unknown>>> {
  await until(async () => {
    clock.advance(0);
    return (await kindsOf(id)).includes("verdict.lapsed");
  }, "the verdict lapses");
  const entries = await auditOf(scene, `request:${id}`);
  return entries.find(({ kind }) => kind === "verdict.lapsed")?.detail ?? {};
}

/** Time passes when the workers have done what they were woken for. */
async function pass(ms: number): Promise<void> {
  await turns();
  clock.advance(ms);
}

test("[ours.hold.given] a delayed verdict leaves the request pending and is applied when its delay is over", async () => {
  const { id } = await server.submit(instance.token);
  const answer = await send(id, "approve", { hold: "5s", note: "fine", valid_for: "90s" });
  assert.equal(answer.status, 200, answer.text);
  const { held, status } = answer.json;
  assert.equal(status, "pending");
  assert.equal(Date.parse(held?.commits_at ?? ""), clock.now() + 5_000);
  assert.deepEqual([held?.verdict, held?.note], ["approve", "fine"]);
  assert.deepEqual((await show(id)).json.held, held);
  const other = await server.token({ kind: "reviewer", name: "other" });
  assert.equal((await show(id, other)).json.held, undefined);
  await pass(4_999);
  assert.equal((await server.read(instance.token, id)).status, "pending");
  await pass(1);
  await untilStored(scene, id, "approved");
  const decided = await server.read(instance.token, id);
  assert.equal(decided.decision?.note, "fine");
  const { decided_at, expires_at } = decided.decision ?? {};
  assert.equal(Date.parse(expires_at ?? "") - Date.parse(decided_at ?? ""), 90_000);
  assert.equal((await show(id)).json.held, undefined);
  assert.deepEqual(await kindsOf(id), [
    "request.opened",
    "verdict.held",
    "request.resolved",
    "verdict.cast",
  ]);
});

test("[ours.hold.back] only the reviewer of a delayed verdict can take it back", async () => {
  const { id } = await server.submit(instance.token);
  await send(id, "deny");
  const other = await server.token({ kind: "reviewer", name: "not the holder" });
  assert.deepEqual((await takeBack(id, other)).json, { taken_back: false });
  assert.deepEqual((await takeBack(id)).json, { taken_back: true });
  assert.deepEqual((await takeBack(id)).json, { taken_back: false });
  await pass(6_000);
  await turns();
  const { status, held } = (await show(id)).json;
  assert.deepEqual([status, held], ["pending", undefined]);
  assert.deepEqual(await kindsOf(id), ["request.opened", "verdict.held", "verdict.taken_back"]);
  await server.decide(reviewer, id, "deny");
  assertRefused(await takeBack(id), 409, "already_terminal");
});

test("[ours.hold.back] a token with group scopes cancels only the delayed verdicts that it sent", async () => {
  const nia = { kind: "reviewer", name: "nia", groups: ["dba"] } as const;
  const whole = await server.token(nia);
  const narrow = await server.token({ ...nia, scopes: ["read", "decide:dba"] });
  const { id } = await submitRequiring(scene, { from: [["group:dba"]] });
  await send(id, "deny", { hold: "5s" }, { token: whole });
  assertRefused(await takeBack(id, narrow), 403, "forbidden");
  assert.equal((await show(id, whole)).json.held?.verdict, "deny");
  assert.deepEqual((await takeBack(id, whole)).json, { taken_back: true });
  await send(id, "approve", { hold: "5s" }, { token: narrow });
  assert.deepEqual((await takeBack(id, narrow)).json, { taken_back: true });
});

test("[ours.hold.repeat] the same verdict does not restart the delay, another replaces it, one without a delay applies at once", async () => {
  const { id } = await server.submit(instance.token);
  const first = (await send(id, "approve")).json.held;
  await pass(1_000);
  assert.deepEqual((await send(id, "approve")).json.held, first);
  const second = (await send(id, "deny", { hold: "7s" })).json.held;
  assert.equal(second?.verdict, "deny");
  assert.equal(Date.parse(second?.commits_at ?? ""), clock.now() + 7_000);
  assert.equal((await send(id, "approve", {})).json.status, "approved");
  const kinds = await kindsOf(id);
  assert.deepEqual(kinds.slice(1), [
    "verdict.held",
    "verdict.held",
    "request.resolved",
    "verdict.taken_back",
  ]);
  await pass(8_000);
  await turns();
  assert.deepEqual(await kindsOf(id), kinds);
});

test("[ours.hold.checked] the server rejects an invalid delayed verdict at once and stores nothing", async () => {
  const { id } = await server.submit(instance.token);
  for (const hold of ["0s", "61s", "5", "2m", "", 5, null]) {
    const refused = await send(id, "approve", { hold });
    assertRefused(refused, 400, "invalid_request", "hold");
  }
  const viewer = await server.token({ kind: "reviewer", name: "viewer", role: "viewer" });
  assertRefused(await send(id, "approve", undefined, { token: viewer }), 403, "forbidden");
  const wrong = { hold: "5s", arguments_sha256: "0".repeat(64) };
  assertRefused(await send(id, "approve", wrong), 409, "arguments_mismatch", "arguments_sha256");
  const asked = await submitRequiring(scene, { noteRequired: true });
  assertRefused(await send(asked.id, "approve"), 400, "invalid_request", "note");
  const signed = await submitRequiring(scene, { confirm: { kind: "passkey" } });
  const passkey = { nonce: "n", assertion: {} };
  const both = await send(signed.id, "approve", { hold: "5s", passkey });
  assert.equal(both.json.error.param, "hold");
  assert.deepEqual(await store.all("select * from delayed_verdict"), []);
});

test("[ours.hold.lapsed] a delayed verdict that is no longer valid when it is due lapses with a reason", async () => {
  const { id } = await server.submit(instance.token);
  const eve = await server.token({ kind: "reviewer", name: "eve" });
  await send(id, "approve", undefined, { token: eve });
  await setReviewer(store, "eve", { role: "viewer" });
  await pass(5_000);
  assert.equal((await lapsed(id)).reason, "forbidden");
  assert.equal((await show(id)).json.status, "pending");

  await setReviewer(store, "eve", { role: "reviewer" });
  await send(id, "approve", undefined, { token: eve });
  const sql = `update credential set revoked_at = 1
    where holder_id in (select id from reviewer where name = 'eve')`;
  await store.transact((tx) => tx.run(sql));
  await pass(5_000);
  await until(async () => {
    clock.advance(0);
    return (await store.all("select * from delayed_verdict")).length === 0;
  }, "it is held no more");
  const entries = await auditOf(scene, `request:${id}`);
  assert.equal(entries.at(-1)?.detail.reason, "invalid_credential");
  assert.equal((await show(id)).json.status, "pending");

  await send(id, "approve");
  await cancel(server, instance.token, id);
  await pass(5_000);
  await until(async () => {
    clock.advance(0);
    return (await auditOf(scene, `request:${id}`)).at(-1)?.detail.reason === "already_terminal";
  }, "the request was cancelled");
  assert.equal((await show(id)).json.status, "cancelled");
});

test("[ours.hold.frozen] a freeze during the delay overrides the verdict", async () => {
  const { id } = await server.submit(instance.token);
  await send(id, "approve");
  const body = { scope: "project" };
  const frozen = await server.call<{ id: string }>("POST", "/review/v1/freezes", {
    token: reviewer,
    body,
  });
  await pass(5_000);
  assert.equal((await lapsed(id)).status, "denied");
  assert.match((await show(id)).json.decided_by ?? "", /^freeze:/);
  await server.call("POST", `/review/v1/freezes/${frozen.json.id}/lift`, { token: reviewer });
});

test("[ours.hold.deadline] a delay ends a second before the deadline, and without an applied verdict the request expires", async (t) => {
  const { id } = await server.submit(instance.token, { timeout: "3s" });
  const { held } = (await send(id, "approve", { hold: "60s" })).json;
  assert.equal(Date.parse(held?.commits_at ?? ""), clock.now() + 2_000);
  await pass(2_000);
  await untilStored(scene, id, "approved");

  const short = await server.submit(instance.token, { timeout: "1s" });
  assert.equal((await send(short.id, "approve", { hold: "60s" })).json.status, "approved");

  const own = await startScene(t);
  const late = await own.server.submit(own.instance.token, { timeout: "10s" });
  const path = `/review/v1/requests/${late.id}`;
  const shown = await own.server.call<Reviewed>("GET", path, { token: own.reviewer });
  const { arguments_sha256 } = shown.json;
  const body = { verdict: "approve", arguments_sha256, hold: "5s" };
  await own.server.call("POST", `${path}/verdict`, { token: own.reviewer, body });
  await own.server.stop();
  own.clock.advance(60_000);
  const again = await restart(t, own);
  await untilStored(again, late.id, "expired");
  await until(async () => {
    again.clock.advance(0);
    return (await kindsOf(late.id, again)).includes("verdict.lapsed");
  }, "the verdict lapses");
});

test("[ours.hold.durable] a server stopped during the delay applies the verdict after its restart", async (t) => {
  const own = await startScene(t);
  const { id } = await own.server.submit(own.instance.token);
  const path = `/review/v1/requests/${id}`;
  const shown = await own.server.call<Reviewed>("GET", path, { token: own.reviewer });
  const body = { verdict: "deny", arguments_sha256: shown.json.arguments_sha256, hold: "5s" };
  await own.server.call("POST", `${path}/verdict`, { token: own.reviewer, body });
  await own.server.stop();
  own.clock.advance(60_000);
  await untilStored(await restart(t, own), id, "denied");
});

test("[ours.hold.vote] an approval that is not enough becomes a vote when its time is over", async () => {
  const { id } = await submitRequiring(scene, { quorum: 2 });
  await send(id, "approve");
  assert.deepEqual((await show(id)).json.votes, []);
  await pass(5_000);
  await until(async () => {
    clock.advance(0);
    return (await show(id)).json.votes.length === 1;
  }, "the vote is there");
  const { held, status, votes } = (await send(id, "approve")).json;
  assert.deepEqual([held, status, votes.length], [undefined, "pending", 1]);
  assert.ok((await kindsOf(id)).includes("verdict.cast"));
});

test("[ours.match.lock] three wrong confirmations lock only their reviewer out of approving", async () => {
  const { id } = await submitRequiring(scene, { confirm: { kind: "match" } });
  const right = { confirmation: id.slice(-4) };
  const wrong = { confirmation: right.confirmation === "0000" ? "0001" : "0000" };
  assertRefused(await send(id, "approve", {}), 400, "invalid_request", "confirmation");
  for (const left of [/2 tries are left/, /one try is left/]) {
    const missed = await send(id, "approve", wrong);
    assertRefused(missed, 400, "invalid_request", "confirmation");
    assert.match(missed.json.error.message, left);
  }
  assert.equal((await show(id)).json.may_decide.approve, true);
  const last = await send(id, "approve", wrong);
  assertRefused(last, 403, "forbidden");
  const { may_decide } = (await show(id)).json;
  assert.deepEqual(may_decide, { approve: false, deny: true, reason: last.json.error.message });
  assertRefused(await send(id, "approve", right), 403, "forbidden");
  const missed = (await auditOf(scene, `request:${id}`)).filter(
    ({ kind }) => kind === "confirmation.missed",
  );
  assert.deepEqual(
    missed.map(({ detail }) => detail.misses),
    [1, 2, 3],
  );
  const other = await server.token({ kind: "reviewer", name: "typing well" });
  const approved = await send(id, "approve", right, { token: other });
  assert.equal(approved.json.status, "approved", approved.text);
});

test("[ours.match.lock] wrong confirmations that come at the same time are counted one by one", async () => {
  const { id } = await submitRequiring(scene, { confirm: { kind: "match" } });
  const { arguments_sha256 } = (await show(id)).json;
  const tries = Array.from({ length: 10 }, (_, n) => String(n).repeat(4));
  const answers = await Promise.all(
    tries
      .filter((confirmation) => confirmation !== id.slice(-4))
      .map((confirmation) =>
        server.call("POST", `/review/v1/requests/${id}/verdict`, {
          token: reviewer,
          body: { verdict: "approve", arguments_sha256, confirmation },
        }),
      ),
  );
  assert.equal(answers.filter(({ status }) => status === 400).length, 2);
  assert.equal((await show(id)).json.may_decide.approve, false);
});
