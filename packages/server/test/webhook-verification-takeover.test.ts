import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ErrorResponse, ProvisionInstanceResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { hideTables } from "./support/store-faults.ts";
import { type Answer, startTestProvider } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";
import {
  countRows,
  forgetHolder,
  lockDatabase,
  type ManualScene,
  startManualScene,
  verificationRows,
} from "./support/verifications.ts";
import { tryProvision, tryUpdate } from "./support/webhook-scene.ts";

/** Three seconds in line, the ten of a verification, and two to commit. */
const LEASE_MS = 15_000;

type Provisioning = Promise<Answer<ProvisionInstanceResponse & ErrorResponse>>;

interface Abandoned {
  readonly scene: ManualScene;
  readonly key: string;
  readonly provision: () => Provisioning;
}

/** A scene in which the holder of a verification has just died; its receiver got one call. */
async function abandon(t: TestContext): Promise<Abandoned> {
  const scene = await startManualScene(t);
  const { server, clock, manual } = scene;
  const key = server.freshKey();
  const provision = () => tryProvision(scene, scene.delivery(), key);
  const refused = provision();
  (await manual.arrived(1)).refuse();
  assert.equal((await refused).status, 422);
  await forgetHolder(server, clock.now() + LEASE_MS);
  return { scene, key, provision };
}

/** Moves the time like for a process that was stopped: no timer of it has fired. */
function freeze({ clock }: ManualScene, ms: number): void {
  clock.set(clock.now() + ms);
}

test("[ours.verification.takeover] of 20 calls that wait for a dead holder one takes over when its lease ends, and not before", async (t) => {
  const { scene, provision } = await abandon(t);
  const { server, clock, receiver, manual } = scene;
  const before = await countRows(server);
  const joined = scene.joined(20);
  const calls = Array.from({ length: 20 }, provision);
  await joined;
  const rejoined = scene.joined(20);
  clock.advance(LEASE_MS - 1);
  await rejoined;
  await turns();
  assert.equal(receiver.connections, 1);
  const joinedAgain = scene.joined(19);
  clock.advance(200);
  const { message, accept } = await manual.arrived(2);
  await joinedAgain;
  accept();
  const answers = await Promise.all(calls);
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...new Array(19).fill(200), 201]);
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal(answers[0]?.json.instance.id, message.instance_id);
  assert.equal(receiver.connections, 2);
  assert.equal((await countRows(server)).instance, before.instance + 1);
});

test("[delivery.provision.conflict-after-failure] [ours.verification.takeover] other input returns 409 before and after the lease of a dead holder, and the same input takes over", async (t) => {
  const { scene, key, provision } = await abandon(t);
  const { server, clock, manual, provisioner } = scene;
  const delivery = scene.delivery({ url: scene.receiver.url("/other") });
  clock.advance(LEASE_MS - 1);
  for (const passedMs of [0, 1]) {
    clock.advance(passedMs);
    for (const body of [{ delivery }, { instance_name: "polls" }]) {
      const call = { token: provisioner, key, body };
      assertRefused(await server.call("POST", "/v1/instances", call), 409, "idempotency_conflict");
    }
  }
  const created = provision();
  (await manual.arrived(2)).accept();
  assert.equal((await created).status, 201);
});

test("[ours.verification.takeover] a slow holder commits when no other took over", async (t) => {
  const scene = await startManualScene(t);
  const provisioning = tryProvision(scene, scene.delivery());
  const { message, accept } = await scene.manual.arrived(1);
  freeze(scene, LEASE_MS * 10);
  accept();
  const { status, json } = await provisioning;
  assert.equal(status, 201);
  assert.equal(json.instance.id, message.instance_id);
});

test("[ours.verification.takeover] after the lease of a slow holder, other input returns 409, and the holder commits", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual, provisioner } = scene;
  const key = server.freshKey();
  const slow = tryProvision(scene, scene.delivery(), key);
  const { accept } = await manual.arrived(1);
  freeze(scene, LEASE_MS);
  const call = { token: provisioner, key, body: { instance_name: "polls" } };
  assertRefused(await server.call("POST", "/v1/instances", call), 409, "idempotency_conflict");
  accept();
  assert.equal((await slow).status, 201);
  const rows = await countRows(server);
  assert.deepEqual([rows.instance, rows.receiver], [1, 1]);
});

interface Overtaken extends ManualScene {
  readonly slow: Provisioning;
  readonly next: Provisioning;
}

/** Two calls with one key: the first was stopped for long, and the second took over. */
async function overtake(t: TestContext): Promise<Overtaken> {
  const scene = await startManualScene(t);
  const key = scene.server.freshKey();
  const slow = tryProvision(scene, scene.delivery(), key);
  await scene.manual.arrived(1);
  freeze(scene, LEASE_MS);
  const next = tryProvision(scene, scene.delivery(), key);
  await scene.manual.arrived(2);
  return { ...scene, slow, next };
}

test("[ours.verification.takeover] a holder with a receiver that accepts after the takeover commits nothing, and gets the answer of the next holder", async (t) => {
  const scene = await overtake(t);
  const { server, receiver, manual, slow, next } = scene;
  const joined = scene.joined(1);
  (await manual.arrived(1)).accept();
  await joined;
  assert.equal((await countRows(server)).instance, 0);
  const second = await manual.arrived(2);
  second.accept();
  const answers = await Promise.all([slow, next]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 201]);
  assert.equal(answers[0]?.text, answers[1]?.text);
  assert.equal(answers[0]?.json.instance.id, second.message.instance_id);
  assert.equal((await countRows(server)).instance, 1);
  assert.equal(receiver.connections, 2);
});

test("[ours.verification.takeover] [ours.verification.joined] a holder with a receiver that rejects after the takeover gets the answer of the next holder", async (t) => {
  const scene = await overtake(t);
  const { server, manual, slow, next } = scene;
  const joined = scene.joined(1);
  (await manual.arrived(1)).refuse();
  await joined;
  (await manual.arrived(2)).accept();
  const answers = await Promise.all([slow, next]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 201]);
  assert.equal(answers[0]?.text, answers[1]?.text);
  assert.equal((await countRows(server)).instance, 1);
});

test("[ours.verification.takeover] [ours.verification.joined] [verification.once] a slow holder gets the error of the failed next holder, and starts no other verification", async (t) => {
  for (const slowEnd of ["accept", "refuse"] as const) {
    const { server, receiver, manual, slow, next } = await overtake(t);
    (await manual.arrived(2)).refuse();
    assertRefused(await next, 422, "webhook_verification_failed", "delivery");
    (await manual.arrived(1))[slowEnd]();
    assertRefused(await slow, 422, "webhook_verification_failed", "delivery");
    assert.equal(receiver.connections, 2);
    assert.equal((await countRows(server)).instance, 0);
  }
});

test("[ours.verification.takeover] a slow holder gets a replay after the next holder has committed", async (t) => {
  for (const slowEnd of ["accept", "refuse"] as const) {
    const { server, receiver, manual, slow, next } = await overtake(t);
    (await manual.arrived(2)).accept();
    const created = await next;
    assert.equal(created.status, 201);
    (await manual.arrived(1))[slowEnd]();
    const replayed = await slow;
    assert.equal(replayed.status, 200);
    assert.equal(replayed.text, created.text);
    assert.equal(receiver.connections, 2);
    assert.equal((await countRows(server)).instance, 1);
  }
});

test("[ours.verification.takeover] [delivery.update.coalesced] an update with a takeover is applied once", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const { instance } = await server.provision(scene.provisioner, "before");
  const key = server.freshKey();
  const body = { instance_name: "after", delivery: scene.delivery() };
  const before = await countRows(server);
  const slow = tryUpdate(scene, instance.id, body, key);
  const first = await manual.arrived(1);
  freeze(scene, LEASE_MS);
  const next = tryUpdate(scene, instance.id, body, key);
  (await manual.arrived(2)).accept();
  assert.equal((await next).status, 200);
  const between = await tryUpdate(scene, instance.id, { delivery: null });
  assert.equal(between.status, 200);
  first.accept();
  assert.equal((await slow).text, (await next).text);
  const rows = await countRows(server);
  assert.equal(rows.receiver, 0);
  assert.equal(rows.audit_entry, before.audit_entry + 2);
});

test("[delivery.provision.coalesced] [ours.verification.takeover] a verification queued for its host is not taken over within its time", async (t) => {
  const scene = await startManualScene(t, { settings: { webhook_host_in_flight_max: "1" } });
  const { server, clock, receiver, manual } = scene;
  const ahead = tryProvision(scene, scene.delivery());
  const first = await manual.arrived(1);
  const key = server.freshKey();
  const joined = scene.joined(1);
  const calls = [1, 2].map(() => tryProvision(scene, scene.delivery(), key));
  await joined;
  clock.advance(2_999);
  first.accept();
  assert.equal((await ahead).status, 201);
  const second = await manual.arrived(2);
  const rejoined = scene.joined(1);
  clock.advance(9_999);
  await rejoined;
  second.accept();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [200, 201]);
  assert.equal(receiver.connections, 2);
});

test("[ours.verification.joined] a call that joined an attempt of another replica gets its result by polling", async (t) => {
  const { scene, provision } = await abandon(t);
  const joined = scene.joined(1);
  const call = provision();
  await joined;
  const sql = "update verification set failure = $1, lease_until = 0";
  await scene.server.provider.context.store.transact((tx) =>
    tx.run(sql, ["webhook_verification_failed"]),
  );
  scene.clock.advance(200);
  assertRefused(await call, 422, "webhook_verification_failed", "delivery");
  assert.equal(scene.receiver.connections, 1);
});

test("[ours.verification.joined] an exchange that joined endless attempts gets Retry-After", async (t) => {
  const { scene, provision } = await abandon(t);
  const { server, clock, receiver } = scene;
  const joined = scene.joined(1);
  const call = provision();
  await joined;
  for (let s = 0; s < 25; s += 5) {
    await forgetHolder(server, clock.now() + LEASE_MS);
    const rejoined = scene.joined(1);
    clock.advance(5_000);
    await rejoined;
  }
  clock.advance(5_000);
  const answer = await call;
  assertRefused(answer, 503, "unavailable");
  assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.equal(receiver.connections, 1);
});

test("[delivery.provision.verified-first] [ours.verification.joined] a failed commit after a verification returns 500 to all joined calls, and the key can be used again", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const key = server.freshKey();
  const before = await countRows(server);
  const joined = scene.joined(2);
  const calls = [1, 2, 3].map(() => tryProvision(scene, scene.delivery(), key));
  await joined;
  const show = await hideTables(server, "credential");
  (await manual.arrived(1)).accept();
  // The gate reads credentials too, so no call may start before they are back.
  const answers = await Promise.all(calls);
  await show();
  // A read in this event loop iteration still happens without them.
  await turns();
  for (const answer of answers) assertRefused(answer, 500, "internal");
  assert.deepEqual(await countRows(server), before);
  const again = tryProvision(scene, scene.delivery(), key);
  (await manual.arrived(2)).accept();
  assert.equal((await again).status, 201);
});

test("[delivery.provision.verified-first] [ours.verification.takeover] a read-only database after a verification returns 503, creates nothing, and the key can be used again", async (t) => {
  const scene = await startManualScene(t);
  const { server, clock, manual } = scene;
  const key = server.freshKey();
  const before = await countRows(server);
  const provisioning = tryProvision(scene, scene.delivery(), key);
  const { accept } = await manual.arrived(1);
  const unlock = await lockDatabase(server);
  accept();
  const answer = await provisioning;
  await unlock();
  assertRefused(answer, 503, "unavailable");
  assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.deepEqual(await countRows(server), before);
  const joined = scene.joined(1);
  const again = tryProvision(scene, scene.delivery(), key);
  await joined;
  clock.advance(LEASE_MS);
  (await manual.arrived(2)).accept();
  assert.equal((await again).status, 201);
});

test("[delivery.provision.coalesced] [ours.operations.drain] a provider that closes answers the calls that wait for a verification when it ends", async (t) => {
  const scene = await startManualScene(t);
  const { server, manual } = scene;
  const key = server.freshKey();
  const joined = scene.joined(1);
  const calls = [1, 2].map(() => tryProvision(scene, scene.delivery(), key));
  await joined;
  const closed = server.stop();
  (await manual.arrived(1)).accept();
  const answers = await Promise.all(calls);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 201]);
  await closed;
});

test("[ours.verification.takeover] a provider that closes before the receiver answers creates nothing, and after a restart the key works", async (t) => {
  const scene = await startManualScene(t, { settings: { shutdown_grace: "2s" } });
  const { server, clock, manual, receiver, provisioner } = scene;
  const key = server.freshKey();
  const joined = scene.joined(1);
  const calls = [1, 2].map(() => tryProvision(scene, scene.delivery(), key));
  const cut = Promise.allSettled(calls);
  await joined;
  await manual.arrived(1);
  const closed = server.stop();
  await turns();
  clock.advance(2_000);
  for (const { status } of await cut) assert.equal(status, "rejected");
  await closed;
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const options = { clock, data: server.data, ca: [receiver.certificate], settings };
  const next = await startTestProvider(t, options);
  const [row] = await verificationRows(next);
  assert.deepEqual([row?.lease_until, (await countRows(next)).instance], [0, 0]);
  const again = tryProvision({ server: next, provisioner }, scene.delivery(), key);
  (await manual.arrived(2)).accept();
  assert.equal((await again).status, 201);
});
