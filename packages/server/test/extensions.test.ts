/** Extensions that an operator enables: consuming an approval, and reporting the outcome. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse, ExtendedApprovalRequest } from "@countersign/protocol";
import { advanceUntil } from "./support/advance.ts";
import {
  approved,
  assertBlockedByFreeze,
  assertOneOfTwentyKeysConsumes,
  assertTwentyWithOneKeyAgree,
  codeOf,
  consumeCall,
  consumed,
  expiryOf,
  reportCall,
  startExtended,
} from "./support/extensions.ts";
import { auditOf, end, restart, storedStatus, submitBody, UNKNOWN_ID } from "./support/scene.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";

test("[ours.extensions.off] without the setting the server answers as the contract says", async (t) => {
  const scene = await startExtended(t, "");
  const { server, instance } = scene;
  const { id } = await approved(scene);
  for (const answer of [
    await consumeCall(scene, id, "once"),
    await reportCall(scene, id, { status: "succeeded" }),
  ]) {
    assert.deepEqual([answer.status, codeOf(answer)], [404, "not_found"]);
  }
  const named = await submitBody(server, instance.token, { ...SUBMISSION, server: "github" });
  const { error } = named.json as unknown as ErrorResponse;
  assert.deepEqual([named.status, error.code, error.param], [400, "invalid_request", "server"]);
});

test("[ours.extensions.off] each extension is admitted by itself", async (t) => {
  const scene = await startExtended(t, "server");
  const { id } = await approved(scene, { server: "github" });
  assert.equal((await consumeCall(scene, id, "once")).status, 404);
  const other = await startExtended(t, "consume");
  const request = await approved(other);
  assert.equal((await consumeCall(other, request.id, "once")).status, 200);
  assert.equal((await reportCall(other, request.id, { status: "failed" })).status, 404);
  const body = { ...SUBMISSION, server: "github" };
  assert.equal((await submitBody(other.server, other.instance.token, body)).status, 400);
});

test("[ours.extensions.off] members of a disabled extension are not in an answer", async (t) => {
  const scene = await startExtended(t);
  const { id } = await approved(scene, { server: "github" });
  assert.equal((await consumeCall(scene, id, "once")).status, 200);
  const read = await scene.server.read(scene.instance.token, id);
  assert.ok("server" in read && "consumption" in read);
  const { server, instance } = await restart(t, scene, { extensions: "" });
  const plain = await server.read(instance.token, id);
  assert.ok(!("server" in plain) && !("consumption" in plain));
});

test("[ours.extensions.consume.once] an approval is consumed once, and later reads show it", async (t) => {
  const scene = await startExtended(t);
  const { server, clock, instance } = scene;
  const request = await approved(scene);
  clock.advance(1_000);
  const first = await consumeCall(scene, request.id, "first");
  const consumption = { consumed_at: new Date(clock.now()).toISOString() };
  assert.deepEqual([first.status, first.json], [200, { ...request, consumption }]);
  assert.deepEqual(await server.read(instance.token, request.id), first.json);
  const second = await consumeCall(scene, request.id, "second");
  assert.deepEqual([second.status, codeOf(second)], [409, "already_consumed"]);
});

test("[ours.extensions.consume.replay] the same key is answered the same until the approval has expired", async (t) => {
  const scene = await startExtended(t);
  const request = await approved(scene);
  const first = await consumeCall(scene, request.id, "once");
  scene.clock.advance(expiryOf(request) - scene.clock.now() - 1);
  const again = await consumeCall(scene, request.id, "once");
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal((await consumed(scene, request.id)).length, 1);
  scene.clock.advance(1);
  const late = await consumeCall(scene, request.id, "once");
  assert.deepEqual([late.status, codeOf(late)], [409, "approval_expired"]);
});

test("[ours.extensions.consume.in-time] it is consumed until the last millisecond of its validity, and at expires_at no more", async (t) => {
  const scene = await startExtended(t);
  const [early, late] = [await approved(scene), await approved(scene)];
  assert.equal(expiryOf(early), expiryOf(late));
  scene.clock.advance(expiryOf(early) - scene.clock.now() - 1);
  assert.equal((await consumeCall(scene, early.id, "early")).status, 200);
  scene.clock.advance(1);
  const refused = await consumeCall(scene, late.id, "late");
  assert.deepEqual([refused.status, codeOf(refused)], [409, "approval_expired"]);
  assert.deepEqual(await consumed(scene, late.id), []);
  const read = await scene.server.read(scene.instance.token, late.id);
  assert.equal(read.status, "approved");
});

test("[ours.extensions.consume.approved] only an approval can be consumed", async (t) => {
  const scene = await startExtended(t);
  const { server, instance } = scene;
  const pending = await server.submit(instance.token);
  const answers = [await consumeCall(scene, pending.id, "pending")];
  for (const status of ["denied", "cancelled", "expired"] as const) {
    const ended = await end(scene, await server.submit(instance.token), status);
    answers.push(await consumeCall(scene, ended.id, status));
  }
  for (const answer of answers) {
    assert.deepEqual([answer.status, codeOf(answer)], [409, "not_approved"]);
  }
});

test("[ours.extensions.consume.input] it takes a key and no body", async (t) => {
  const scene = await startExtended(t);
  const { server, instance } = scene;
  const { id } = await approved(scene);
  const path = `/v1/requests/${id}/consume`;
  const paramOf = ({ json }: Answer) => (json as ErrorResponse).error.param;
  const keyless = await server.call("POST", path, { token: instance.token });
  assert.deepEqual([keyless.status, paramOf(keyless)], [400, "Idempotency-Key"]);
  const body = await server.call("POST", path, { token: instance.token, key: "once", body: {} });
  assert.deepEqual([body.status, paramOf(body)], [400, "body"]);
  assert.deepEqual(await consumed(scene, id), []);
});

test("[ours.extensions.own] a request of another instance, or none, is not there", async (t) => {
  const scene = await startExtended(t);
  const { id } = await approved(scene);
  const outsider = { ...scene, instance: await scene.server.instance() };
  const neighbour = await scene.server.provision(scene.instance.provisioner);
  const { instance, credential } = neighbour;
  const beside = { ...scene, instance: { ...scene.instance, ...instance, ...credential } };
  for (const caller of [outsider, beside]) {
    assert.equal((await consumeCall(caller, id, "once")).status, 404);
    assert.equal((await consumeCall(caller, UNKNOWN_ID, "once")).status, 404);
    assert.equal((await consumeCall(caller, "none", "once")).status, 404);
    assert.equal((await reportCall(caller, id, { status: "succeeded" })).status, 404);
  }
  assert.deepEqual(await consumed(scene, id), []);
});

test("[ours.extensions.consume.once] of twenty that consume at one time, each with a key of its own, one does", async (t) => {
  await assertOneOfTwentyKeysConsumes(await startExtended(t), consumeCall);
});

test("[ours.extensions.consume.replay] of twenty that come with one key all have the same answer, and it is consumed once", async (t) => {
  await assertTwentyWithOneKeyAgree(await startExtended(t), consumeCall);
});

test("[ours.extensions.consume.replay] a server that starts again knows what was consumed, and answers the same key alike", async (t) => {
  const scene = await startExtended(t);
  const { id } = await approved(scene);
  const first = await consumeCall(scene, id, "once");
  const after = await restart(t, scene, { extensions: "consume,outcome,server" });
  const again = await consumeCall(after, id, "once");
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal(codeOf(await consumeCall(after, id, "other")), "already_consumed");
});

test("[ours.extensions.consume.audited] the use is in the audit log, and a reviewer sees when it was", async (t) => {
  const scene = await startExtended(t);
  const { server, clock, instance, reviewer } = scene;
  const request = await approved(scene);
  clock.advance(2_000);
  await consumeCall(scene, request.id, "once");
  await consumeCall(scene, request.id, "once");
  await consumeCall(scene, request.id, "other");
  const entries = await auditOf(scene, `request:${request.id}`);
  const [entry, ...more] = entries.filter(({ kind }) => kind === "approval.consumed");
  assert.deepEqual(more, []);
  const actor = `instance:${instance.id}`;
  assert.deepEqual([entry?.at, entry?.actor], [clock.now(), actor]);
  assert.equal(entry?.detail.expires_at, expiryOf(request));
  const background = await server.call<{ readonly timeline: readonly object[] }>(
    "GET",
    `/review/v1/requests/${request.id}/background`,
    { token: reviewer },
  );
  const at = new Date(clock.now()).toISOString();
  assert.deepEqual(background.json.timeline.at(-1), { at, kind: "approval.consumed", by: actor });
  const shown = await server.call<ExtendedApprovalRequest>(
    "GET",
    `/review/v1/requests/${request.id}`,
    { token: reviewer },
  );
  assert.deepEqual(shown.json.consumption, { consumed_at: at });
});

test("[ours.extensions.consume.frozen] under a freeze no approval is used, and after it those that are still valid are", async (t) => {
  await assertBlockedByFreeze(await startExtended(t), consumeCall);
});

test("[ours.extensions.consume.deleted] after the deletion of its instance nothing is used", async (t) => {
  const scene = await startExtended(t);
  const { server, instance } = scene;
  const { id } = await approved(scene);
  const racing = [0, 1, 2].map((n) => consumeCall(scene, id, `key-${n}`));
  const deleted = await server.call("DELETE", `/v1/instances/${instance.id}`, {
    token: instance.provisioner,
  });
  assert.equal(deleted.status, 204);
  const late = await consumeCall(scene, id, "late");
  assert.deepEqual([late.status, codeOf(late)], [401, "invalid_credential"]);
  for (const { status } of await Promise.all(racing)) assert.ok([200, 401, 409].includes(status));
  assert.ok((await consumed(scene, id)).length <= 1);
});

test("[ours.extensions.outcome] the outcome of a call is stored as the agent's claim, and can be reported only once", async (t) => {
  const scene = await startExtended(t);
  const { server, clock, instance, reviewer } = scene;
  const { id } = await approved(scene);
  const early = await reportCall(scene, id, { status: "succeeded" });
  assert.deepEqual([early.status, codeOf(early)], [409, "not_consumed"]);
  await consumeCall(scene, id, "once");
  clock.advance(3_600_000);
  const note = 'done\n<b>"ok"</b>\u202e';
  const report = await reportCall(scene, id, { status: "failed", note });
  assert.equal(report.status, 200, report.text);
  const reported_at = new Date(clock.now()).toISOString();
  assert.deepEqual(report.json.consumption?.outcome, { status: "failed", note, reported_at });
  clock.advance(1_000);
  const again = await reportCall(scene, id, { status: "failed", note });
  assert.deepEqual([again.status, again.text], [200, report.text]);
  for (const other of [{ status: "succeeded", note }, { status: "failed" }]) {
    const refused = await reportCall(scene, id, other);
    assert.deepEqual([refused.status, codeOf(refused)], [409, "outcome_conflict"]);
  }
  assert.deepEqual(await server.read(instance.token, id), report.json);
  const entries = await auditOf(scene, `request:${id}`);
  const reported = entries.filter(({ kind }) => kind === "outcome.reported");
  assert.equal(reported.length, 1);
  assert.equal(reported[0]?.detail.status, "failed");
  assert.ok(!JSON.stringify(reported).includes("done"), "the log holds a digest of the note");
  const background = await server.call<{ readonly timeline: readonly object[] }>(
    "GET",
    `/review/v1/requests/${id}/background`,
    { token: reviewer },
  );
  assert.deepEqual(background.json.timeline.at(-1), {
    at: reported_at,
    kind: "outcome.reported",
    by: `instance:${instance.id}`,
    status: "failed",
    note,
  });
});

test("[ours.extensions.outcome] a malformed report returns an error with the name of its field, and changes nothing", async (t) => {
  const scene = await startExtended(t);
  const { id } = await approved(scene);
  await consumeCall(scene, id, "once");
  const wrong: readonly (readonly [object, string])[] = [
    [{}, "status"],
    [{ status: "ok" }, "status"],
    [{ status: null }, "status"],
    [{ status: "succeeded", note: "" }, "note"],
    [{ status: "succeeded", note: 1 }, "note"],
    [{ status: "succeeded", note: "x".repeat(10_001) }, "note"],
    [{ status: "succeeded", result: {} }, "result"],
  ];
  for (const [body, param] of wrong) {
    const answer = await reportCall(scene, id, body);
    const { error } = answer.json as unknown as ErrorResponse;
    assert.deepEqual([answer.status, error.param], [400, param], answer.text);
  }
  const longest = { status: "succeeded", note: "x".repeat(10_000) };
  assert.equal((await reportCall(scene, id, longest)).status, 200);
});

test("[ours.extensions.outcome] of twenty reports at one time, half of each kind, one kind is kept", async (t) => {
  const scene = await startExtended(t);
  const { id } = await approved(scene);
  await consumeCall(scene, id, "once");
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      reportCall(scene, id, { status: index % 2 === 0 ? "succeeded" : "failed" }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 10);
  assert.equal(answers.filter((answer) => codeOf(answer) === "outcome_conflict").length, 10);
});

test("[ours.extensions.server] a server is stored, returned and part of the idempotent input", async (t) => {
  const scene = await startExtended(t);
  const { server, instance, reviewer } = scene;
  const name = 'git"hub\u202e 🚀';
  const body = { ...SUBMISSION, server: name };
  const made = await submitBody(server, instance.token, body, "once");
  assert.equal(made.status, 201, made.text);
  const { json } = made as unknown as Answer<ExtendedApprovalRequest>;
  assert.equal(json.server, name);
  assert.deepEqual(await server.read(instance.token, json.id), json);
  assert.equal((await submitBody(server, instance.token, body, "once")).status, 200);
  for (const other of [SUBMISSION, { ...body, server: "gitlab" }]) {
    assert.equal((await submitBody(server, instance.token, other, "once")).status, 409);
  }
  const plain = await submitBody(server, instance.token, SUBMISSION, "plain");
  assert.ok(!("server" in plain.json));
  assert.equal((await submitBody(server, instance.token, body, "plain")).status, 409);
  for (const wrong of ["", null, 1, {}]) {
    const refused = await submitBody(server, instance.token, { ...SUBMISSION, server: wrong });
    const { error } = refused.json as unknown as ErrorResponse;
    assert.deepEqual([refused.status, error.param], [400, "server"]);
  }
  const shown = await server.call<ExtendedApprovalRequest>(
    "GET",
    `/review/v1/requests/${json.id}`,
    {
      token: reviewer,
    },
  );
  assert.equal(shown.json.server, name);
});

test("[ours.extensions.consume.kept] a use is purged with its request, and not before", async (t) => {
  const scene = await startExtended(t);
  const { server, clock, instance } = scene;
  const { id } = await approved(scene);
  await consumeCall(scene, id, "once");
  await reportCall(scene, id, { status: "succeeded", note: "done" });
  const { store, settings } = server.provider.context;
  const count = async () => (await store.all("select request_id from consumption")).length;
  clock.advance(settings.retentionMs - 1);
  assert.equal((await server.read(instance.token, id)).status, "approved");
  assert.equal(await count(), 1);
  await advanceUntil(clock, 5 * 60_000, 100, async () => (await count()) === 0);
  assert.equal(await storedStatus(scene, id), undefined);
});

test("[ours.extensions.setting] the server does not start with an unknown extension, or with outcome but without consume", async (t) => {
  const start = (extensions: string) => startTestProvider(t, { settings: { extensions } });
  await assert.rejects(start("consume,outcomes"), /extensions: unknown name "outcomes"/);
  await assert.rejects(start("outcome"), /outcome requires consume/);
});
