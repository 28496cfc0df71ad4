/** The agent surface: consuming an approval on a server without extensions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { IDEMPOTENCY_KEY_CHARS_MAX } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import {
  approved,
  assertBlockedByFreeze,
  assertOneOfTwentyKeysConsumes,
  assertTwentyWithOneKeyAgree,
  consumeCall,
  consumed,
  consumeOnAgentSurface,
  expiryOf,
  startExtended,
} from "./support/extensions.ts";
import { auditOf, end, restart, startScene, submitBody, UNKNOWN_ID } from "./support/scene.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";

function pathOf(id: string): string {
  return `/agent/v1/requests/${id}/consume`;
}

test("[ours.agent.consume] the first key gets 200 with the time of the consumption, another key 409 already_consumed", async (t) => {
  const scene = await startScene(t);
  const { id } = await approved(scene);
  scene.clock.advance(1_000);
  const first = await consumeOnAgentSurface(scene, id, "first");
  const consumed_at = new Date(scene.clock.now()).toISOString();
  assert.deepEqual([first.status, first.json], [200, { id, consumed_at }]);
  const second = await consumeOnAgentSurface(scene, id, "second");
  assertRefused(second, 409, "already_consumed");
  assert.equal((await consumed(scene, id)).length, 1);
});

test("[ours.agent.consume] the same key gets the same response until expires_at, then 409 approval_expired", async (t) => {
  const scene = await startScene(t);
  const request = await approved(scene);
  const first = await consumeOnAgentSurface(scene, request.id, "once");
  scene.clock.advance(expiryOf(request) - scene.clock.now() - 1);
  const again = await consumeOnAgentSurface(scene, request.id, "once");
  assert.deepEqual([again.status, again.text], [200, first.text]);
  scene.clock.advance(1);
  assertRefused(await consumeOnAgentSurface(scene, request.id, "once"), 409, "approval_expired");
});

test("[ours.agent.consume] the same key gets the same response after a restart", async (t) => {
  const scene = await startScene(t);
  const { id } = await approved(scene);
  const first = await consumeOnAgentSurface(scene, id, "once");
  const after = await restart(t, scene);
  const again = await consumeOnAgentSurface(after, id, "once");
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assertRefused(await consumeOnAgentSurface(after, id, "other"), 409, "already_consumed");
});

test("[ours.agent.consume] twenty concurrent keys: exactly one returns 200", async (t) => {
  await assertOneOfTwentyKeysConsumes(await startScene(t), consumeOnAgentSurface);
});

test("[ours.agent.consume] twenty concurrent requests with one key: all return the same 200", async (t) => {
  await assertTwentyWithOneKeyAgree(await startScene(t), consumeOnAgentSurface);
});

test("[ours.agent.consume] a pending, denied, expired or cancelled request returns 409 not_approved", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const pending = await server.submit(instance.token);
  assertRefused(await consumeOnAgentSurface(scene, pending.id, "pending"), 409, "not_approved");
  for (const status of ["denied", "cancelled", "expired"] as const) {
    const { id } = await end(scene, await server.submit(instance.token), status);
    assertRefused(await consumeOnAgentSurface(scene, id, status), 409, "not_approved");
  }
});

test("[ours.agent.consume] an approval that was never consumed returns 409 approval_expired at expires_at", async (t) => {
  const scene = await startScene(t);
  const request = await approved(scene);
  scene.clock.advance(expiryOf(request) - scene.clock.now());
  assertRefused(await consumeOnAgentSurface(scene, request.id, "late"), 409, "approval_expired");
  assert.deepEqual(await consumed(scene, request.id), []);
});

test("[ours.agent.consume] under a freeze it returns 409 calls_frozen, and 200 after the freeze is lifted", async (t) => {
  await assertBlockedByFreeze(await startScene(t), consumeOnAgentSurface);
});

test("[ours.agent.consume] it requires one Idempotency-Key and rejects a body", async (t) => {
  const scene = await startScene(t, { settings: { body_bytes_max: "4096" } });
  const { server, instance } = scene;
  const { token } = instance;
  const { id } = await approved(scene);
  for (const key of [undefined, "k".repeat(IDEMPOTENCY_KEY_CHARS_MAX + 1)]) {
    const call = key === undefined ? { token } : { token, key };
    const answer = await server.call("POST", pathOf(id), call);
    assertRefused(answer, 400, "invalid_request", "Idempotency-Key");
  }
  const body = await server.call("POST", pathOf(id), { token, key: "once", body: {} });
  assertRefused(body, 400, "invalid_request", "body");
  const large = { token, key: "once", body: { text: "x".repeat(5_000) } };
  assertRefused(await server.call("POST", pathOf(id), large), 400, "body_too_large", "body");
  assert.deepEqual(await consumed(scene, id), []);
});

test("[ours.agent.own] only the instance of the request can consume: 404 for others, 403 for other credentials, 401 without one", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  const { id } = await approved(scene);
  const stranger = await server.instance();
  const sibling = await server.provision(instance.provisioner);
  for (const token of [stranger.token, sibling.credential.token]) {
    for (const each of [id, UNKNOWN_ID, "none"]) {
      const answer = await server.call("POST", pathOf(each), { token, key: "once" });
      assertRefused(answer, 404, "not_found");
    }
  }
  for (const token of [instance.provisioner, reviewer]) {
    const answer = await server.call("POST", pathOf(id), { token, key: "once" });
    assertRefused(answer, 403, "wrong_credential_kind");
  }
  for (const call of [{ key: "once" }, { key: "once", token: "unknown" }]) {
    assertRefused(await server.call("POST", pathOf(id), call), 401, "invalid_credential");
  }
  assert.deepEqual(await consumed(scene, id), []);
});

test("[ours.agent.own] after the deletion of the instance it returns 401", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { id } = await approved(scene);
  const racing = [0, 1, 2].map((n) => consumeOnAgentSurface(scene, id, `key-${n}`));
  const path = `/v1/instances/${instance.id}`;
  const deleted = await server.call("DELETE", path, { token: instance.provisioner });
  assert.equal(deleted.status, 204);
  const count = (await consumed(scene, id)).length;
  assertRefused(await consumeOnAgentSurface(scene, id, "late"), 401, "invalid_credential");
  const statuses = (await Promise.all(racing)).map(({ status }) => status);
  assert.equal((await consumed(scene, id)).length, count);
  assert.equal(statuses.filter((status) => status === 200).length, count);
});

test("[ours.agent.contract] without the extension, responses of the contract do not show a consumption", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { token } = instance;
  const submitted = await submitBody(server, token, SUBMISSION, "submitted");
  const { id } = await end(scene, submitted.json, "approved");
  const responses = async () => {
    const read = await server.call("GET", `/v1/requests/${id}`, { token });
    const polled = await server.call("GET", `/v1/requests/${id}?wait=1s`, { token });
    const replayed = await submitBody(server, token, SUBMISSION, "submitted");
    assert.deepEqual([read.status, polled.status, replayed.status], [200, 200, 200]);
    return [read.text, polled.text, replayed.text];
  };
  const before = await responses();
  assert.equal((await consumeOnAgentSurface(scene, id, "once")).status, 200);
  assert.deepEqual(await responses(), before);
  assertRefused(await consumeCall(scene, id, "once"), 404, "not_found");
});

test("[ours.agent.contract] without the extension, reading an approved request does not query consumptions", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { id } = await approved(scene);
  const { store } = server.provider.context;
  const reads = [t.mock.method(store, "get"), t.mock.method(store, "all")];
  await server.read(instance.token, id);
  const queries = reads.flatMap(({ mock }) => mock.calls.map((call) => String(call.arguments[0])));
  assert.ok(queries.some((sql) => /from request\b/.test(sql)));
  assert.deepEqual(
    queries.filter((sql) => sql.includes("consumption")),
    [],
  );
});

test("[ours.agent.contract] with the extension, both routes record one consumption", async (t) => {
  const scene = await startExtended(t, "consume,outcome");
  const { server, instance } = scene;
  const here = await approved(scene);
  const { json } = await consumeOnAgentSurface(scene, here.id, "once");
  const { consumed_at } = json;
  const replayed = await consumeCall(scene, here.id, "once");
  assert.deepEqual([replayed.status, replayed.json.consumption], [200, { consumed_at }]);
  assertRefused(await consumeCall(scene, here.id, "other"), 409, "already_consumed");
  assert.deepEqual(await server.read(instance.token, here.id), replayed.json);

  const there = await approved(scene);
  const consumption = await consumeCall(scene, there.id, "once");
  const again = await consumeOnAgentSurface(scene, there.id, "once");
  const expected = { id: there.id, consumed_at: consumption.json.consumption?.consumed_at };
  assert.deepEqual([again.status, again.json], [200, expected]);
  assertRefused(await consumeOnAgentSurface(scene, there.id, "other"), 409, "already_consumed");
  for (const { id } of [here, there]) assert.equal((await consumed(scene, id)).length, 1);
});

test("[ours.agent.audited] the audit log has one entry approval.consumed, and reviewers see its time", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance, reviewer } = scene;
  const { id } = await approved(scene);
  clock.advance(2_000);
  for (const key of ["once", "once", "other"]) await consumeOnAgentSurface(scene, id, key);
  const entries = await auditOf(scene, `request:${id}`);
  const actor = `instance:${instance.id}`;
  assert.deepEqual(
    entries.filter(({ kind }) => kind === "approval.consumed").map(({ at, actor: by }) => [at, by]),
    [[clock.now(), actor]],
  );
  const shown = await server.call<{ readonly consumption?: object }>(
    "GET",
    `/review/v1/requests/${id}`,
    { token: reviewer },
  );
  const consumed_at = new Date(clock.now()).toISOString();
  assert.deepEqual(shown.json.consumption, { consumed_at });
});

test("[ours.agent.guards] the rate limit of the instance applies", async (t) => {
  const scene = await startScene(t, { settings: { instance_rate: "5" } });
  const { id } = await approved(scene);
  const answers: Answer[] = [];
  for (let n = 0; n < 11; n++) answers.push(await consumeOnAgentSurface(scene, id, "once"));
  assert.equal(answers[0]?.status, 200);
  const last = answers.at(-1) as Answer;
  assertRefused(last, 429, "rate_limited");
  assert.match(last.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
});

test("[ours.agent.guards] metrics count the operation as consumeAgentApproval", async (t) => {
  const scene = await startScene(t);
  const { id } = await approved(scene);
  await consumeOnAgentSurface(scene, id, "once");
  const metrics = await (await fetch(`${scene.server.url}/metrics`)).text();
  const sample =
    'countersign_exchange_seconds_count{operation="consumeAgentApproval",status="200"}';
  assert.ok(metrics.includes(`${sample} 1`), metrics);
});

test("[ours.agent.guards] the surface has the path prefix of the contract, one method, and no other path", async (t) => {
  const prefix = "/api/aap";
  const server = await startTestProvider(t, { settings: { path_prefix: prefix } });
  const provisioner = await server.token({ kind: "provisioner" });
  const made = await server.call<{ readonly credential: { readonly token: string } }>(
    "POST",
    `${prefix}/v1/instances`,
    { token: provisioner, key: "instance", body: {} },
  );
  const call = { token: made.json.credential.token, key: "once" };
  const path = pathOf(UNKNOWN_ID);
  assertRefused(await server.call("POST", prefix + path, {}), 401, "invalid_credential");
  assertRefused(await server.call("POST", prefix + path, call), 404, "not_found");
  assertRefused(await server.call("POST", path, {}), 404, "not_found");
  assertRefused(await server.call("GET", `${prefix}/agent/v1/requests`, {}), 404, "not_found");
  const read = await server.call("GET", prefix + path, call);
  assertRefused(read, 405, "method_not_allowed");
  assert.equal(read.headers.get("allow"), "POST");
});
