import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  answering,
  copyDeliveries,
  type DeliveryScene,
  decide,
  decideAndAttempt,
  type Reviewed,
  rowOf,
  startDeliveryScene,
} from "./support/deliveries.ts";
import { assertRefused } from "./support/envelope.ts";
import { auditOf } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";
import {
  outbox,
  provisionWithReceiver,
  tryUpdate,
  untilDelivered,
} from "./support/webhook-scene.ts";

const DELIVERIES = "/review/v1/deliveries";

function retry(
  { server, reviewer }: DeliveryScene,
  id: string,
  token = reviewer,
): Promise<Answer<Reviewed>> {
  return server.call("POST", `${DELIVERIES}/${id}/retry`, { token });
}

function retryInstance(
  { server, reviewer, instance }: DeliveryScene,
  instance_id: unknown = instance.id,
  token = reviewer,
): Promise<Answer<Reviewed>> {
  return server.call("POST", `${DELIVERIES}/retry`, { token, body: { instance_id } });
}

/** The entries that retries made about one request or instance. */
async function retriesOf(scene: DeliveryScene, subject: string): ReturnType<typeof auditOf> {
  return (await auditOf(scene, subject)).filter(({ kind }) => kind === "delivery.hurried");
}

/** Lets the workers go on until the delivery of this row has ended. */
async function untilEnded(scene: DeliveryScene, id: string): Promise<void> {
  const hasEnded = async () => (await rowOf(scene.server, id)).ended_at !== null;
  await untilDelivered(scene, hasEnded, "the end of the delivery");
}

/** Gives the workers every chance to do what is due at this time. */
async function settle({ clock }: DeliveryScene): Promise<void> {
  for (let i = 0; i < 5; i++) {
    clock.advance(0);
    await turns();
  }
}

test("[ours.deliveries.retry] a waiting delivery is due at once and is attempted, long before its time", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, clock, notifications } = scene;
  for (const name of ["id", "request_id"] as const) {
    scene.answer = answering(500);
    const row = await decideAndAttempt(scene);
    assert.ok((row.next_at ?? 0) > clock.now());
    await settle(scene);
    const before = notifications.length;
    scene.answer = answering(204);

    const answer = await retry(scene, row[name]);

    assert.equal(answer.status, 200, answer.text);
    const { id, request_id, status, attempts, next_attempt_at } = answer.json;
    assert.deepEqual([id, request_id, status, attempts], [row.id, row.request_id, "waiting", 1]);
    assert.equal(next_attempt_at, new Date(clock.now()).toISOString());
    await untilEnded(scene, row.id);
    assert.equal(notifications.length, before + 1);
    const { ended_by, attempts: tried, body } = await rowOf(server, row.id);
    assert.deepEqual([ended_by, tried, body], ["acknowledged", 2, row.body]);
  }
});

test("[ours.deliveries.retry] a retry is in the audit log with its actor, its delivery and its time", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, clock, reviewer } = scene;
  const row = await decideAndAttempt(scene);
  clock.set(clock.now() + 1_000);
  assert.equal((await retry(scene, row.id, reviewer)).status, 200);
  const decided = (await auditOf(scene, `request:${row.request_id}`))[1];
  assert.match(decided?.actor ?? "", /^reviewer:/);
  assert.deepEqual(await retriesOf(scene, `request:${row.request_id}`), [
    {
      at: clock.now(),
      kind: "delivery.hurried",
      actor: decided?.actor,
      detail: { delivery_id: row.id },
    },
  ]);
  const entries = await server.provider.context.store.all("select * from audit_entry");
  assert.doesNotMatch(JSON.stringify(entries), /whsec|hook|team=a/);
});

test("[ours.deliveries.retry] a delivery that is already due is unchanged without an entry, and the pause of its destination ends", async (t) => {
  const scene = await startDeliveryScene(t);
  const { clock, notifications } = scene;
  const rows = [];
  for (let i = 0; i < 5; i++) rows.push(await decideAndAttempt(scene));
  scene.answer = answering(204);
  const late = await decide(scene);
  await settle(scene);
  // Five failures in a row: the receiver is left in peace for a while.
  assert.equal(notifications.length, 5);

  const answer = await retry(scene, late.id);

  assert.deepEqual([answer.status, answer.json.status], [200, "waiting"], answer.text);
  assert.equal(answer.json.next_attempt_at, new Date(clock.now()).toISOString());
  await untilEnded(scene, late.id);
  assert.deepEqual(await retriesOf(scene, `request:${late.request_id}`), []);
});

test("[event.retry.retry-after] [ours.deliveries.retry] what the receiver asked for binds operators too", async (t) => {
  const scene = await startDeliveryScene(t);
  const { clock, notifications } = scene;
  scene.answer = (_, response) => response.writeHead(503, { "retry-after": "7200" }).end();
  const row = await decideAndAttempt(scene);
  const notBefore = clock.now() + 7_200_000;
  assert.ok((row.next_at ?? 0) > notBefore);
  scene.answer = answering(204);

  const answer = await retry(scene, row.id);

  assert.equal(answer.json.next_attempt_at, new Date(notBefore).toISOString(), answer.text);
  await settle(scene);
  assert.equal(notifications.length, 1);
  clock.advance(7_200_000);
  await settle(scene);
  // The database is asked once a second who waits.
  clock.advance(1_000);
  await untilEnded(scene, row.id);
  assert.equal(notifications.length, 2);
});

test("[ours.deliveries.retry] a delivery in flight is not disturbed", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, notifications } = scene;
  let answer: (() => void) | undefined;
  scene.answer = (_, response) => {
    answer = () => response.writeHead(204).end();
  };
  const { id, request_id } = await decide(scene);
  await untilDelivered(scene, () => answer !== undefined, "the attempt arrives");
  const before = await rowOf(server, id);
  const { status, json } = await retry(scene, id);
  assert.deepEqual([status, json.status], [200, "in_flight"]);
  assert.deepEqual((await retryInstance(scene)).json.hurried, 0);
  await settle(scene);
  assert.deepEqual(await rowOf(server, id), before);
  assert.equal(notifications.length, 1);
  assert.deepEqual(await retriesOf(scene, `request:${request_id}`), []);
  answer?.();
  await untilEnded(scene, id);
  assert.equal(notifications.length, 1);
});

test("[ours.deliveries.retry] a retry of an ended delivery returns 409 with the reason, and leaves it unchanged", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, instance, provisioner, clock } = scene;
  const failed = await decideAndAttempt(scene);
  const [over = ""] = await copyDeliveries(server, failed, [
    { created_at: clock.now() - 168 * 3_600_000, next_at: clock.now() + 60_000 },
  ]);
  scene.answer = answering(204);
  const good = await decide(scene);
  await untilEnded(scene, good.id);
  const assertEnded = async (id: string, why: RegExp) => {
    const before = await outbox(scene);
    const answer = await retry(scene, id);
    assertRefused(answer, 409, "already_terminal");
    assert.match(answer.json.error.message, why);
    await settle(scene);
    assert.deepEqual(await outbox(scene), before);
    const { request_id } = await rowOf(server, id);
    assert.deepEqual(await retriesOf(scene, `request:${request_id}`), []);
  };
  await assertEnded(good.id, /acknowledged/);
  await assertEnded(over, /168 hours/);
  assert.equal((await tryUpdate(scene, instance.id, { delivery: null })).status, 200);
  await assertEnded(failed.id, /receiver was removed/);
  scene.answer = answering(500);
  const update = await tryUpdate(scene, instance.id, { delivery: scene.delivery() });
  assert.equal(update.status, 200, update.text);
  await assertEnded(failed.id, /receiver was removed/);
  const last = await decideAndAttempt(scene);
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: provisioner });
  await assertEnded(last.id, /instance was deleted/);
  assertRefused(await retryInstance(scene), 404, "not_found");
});

test("[ours.deliveries.retry-instance] all waiting deliveries of an instance become due at once, for any number, and no others", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, clock, instance } = scene;
  const other = { ...scene, instance: await provisionWithReceiver(scene) };
  const row = await decideAndAttempt(scene);
  const untouched = [await decideAndAttempt(other)];
  const now = clock.now();
  // More than one transaction takes, many of them at the same time, and one that is out.
  const later = Array.from({ length: 1_100 }, (_, i) => ({ next_at: now + 60_000 + (i % 7) }));
  await copyDeliveries(server, row, later);
  const lease = { claimed_until: now + 20_000, next_at: now + 20_000 };
  const gone = { next_at: null, ended_at: now - 1, ended_by: "window" };
  for (const id of await copyDeliveries(server, row, [lease, gone])) {
    untouched.push(await rowOf(server, id));
  }

  const answer = await retryInstance(scene);

  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json as unknown, { instance_id: instance.id, hurried: 1_101 });
  const rows = await outbox(scene);
  assert.equal(rows.filter(({ next_at }) => next_at === now).length, 1_101);
  for (const row of untouched) assert.deepEqual(await rowOf(server, row.id), row);
  const entries = await retriesOf(scene, `instance:${instance.id}`);
  const counts = entries.map(({ detail }) => Number(detail.deliveries));
  assert.equal(counts.length, 3);
  assert.equal(counts[0] === undefined ? 0 : counts.reduce((a, b) => a + b), 1_101);
  for (const { actor } of entries) assert.match(actor, /^reviewer:/);
  assert.deepEqual((await retryInstance(scene)).json.hurried, 0);
  assert.equal((await retriesOf(scene, `instance:${instance.id}`)).length, 3);
});

test("[ours.deliveries.retry-instance] a receiver that works again gets all that it missed, without a wait", async (t) => {
  // One at a time: an attempt in flight when the operator asks would fail once more, and wait.
  const scene = await startDeliveryScene(t, { webhook_account_in_flight_max: "1" });
  const rows = [];
  for (let i = 0; i < 8; i++) rows.push(await decide(scene));
  await untilDelivered(
    scene,
    async () => (await outbox(scene)).filter(({ attempts }) => attempts > 0).length === 5,
    "the first attempts",
  );
  scene.answer = answering(204);
  assert.equal((await retryInstance(scene)).status, 200);
  for (const { id } of rows) await untilEnded(scene, id);
});

test("[ours.deliveries.retry-instance] a delivery ended by a removal is not retried, also before the end is recorded", async (t) => {
  const scene = await startDeliveryScene(t);
  const { id } = await decideAndAttempt(scene);
  const sql = "update instance set delivery_epoch = delivery_epoch + 1";
  await scene.server.provider.context.store.transact((tx) => tx.run(sql));
  const before = await rowOf(scene.server, id);
  assert.equal((await retryInstance(scene)).json.hurried, 0);
  assert.deepEqual(await rowOf(scene.server, id), before);
});

test("[ours.deliveries.retry-instance] the body names an instance and nothing else", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, reviewer: token, instance } = scene;
  const wrong: readonly (readonly [unknown, string])[] = [
    [{}, "instance_id"],
    [{ instance_id: null }, "instance_id"],
    [{ instance_id: "" }, "instance_id"],
    [{ instance_id: "mine" }, "instance_id"],
    [{ instance_id: [instance.id] }, "instance_id"],
    [{ instance_id: instance.id, all: true }, "all"],
    ["[]", "body"],
  ];
  for (const [body, param] of wrong) {
    const answer = await server.call("POST", `${DELIVERIES}/retry`, { token, body });
    assertRefused(answer, 400, "invalid_request", param);
  }
  const bare = await server.call("POST", `${DELIVERIES}/retry`, { token });
  assertRefused(bare, 400, "invalid_request", "Content-Type");
  for (const id of [randomUUID(), (await decide(scene)).id]) {
    assertRefused(await retryInstance(scene, id), 404, "not_found");
  }
});

test("[ours.deliveries.scope] a reviewer retries nothing of another project", async (t) => {
  const scene = await startDeliveryScene(t);
  const row = await decideAndAttempt(scene);
  const outsider = await scene.server.token({ kind: "reviewer", project: "elsewhere" });
  for (const id of [row.id, row.request_id, randomUUID(), "x"]) {
    assertRefused(await retry(scene, id, outsider), 404, "not_found");
  }
  assertRefused(await retryInstance(scene, scene.instance.id, outsider), 404, "not_found");
  assert.deepEqual(await rowOf(scene.server, row.id), row);
  assert.deepEqual(await retriesOf(scene, `instance:${scene.instance.id}`), []);
});

test("[ours.deliveries.role] a viewer reads deliveries and cannot retry them", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server } = scene;
  const row = await decideAndAttempt(scene);
  const viewer = await server.token({ kind: "reviewer", name: "viewer", role: "viewer" });
  for (const path of ["", "?state=ended", `/${row.id}`]) {
    assert.equal((await server.call("GET", DELIVERIES + path, { token: viewer })).status, 200);
  }
  for (const id of [row.id, row.request_id, randomUUID()]) {
    assertRefused(await retry(scene, id, viewer), 403, "forbidden");
  }
  assertRefused(await retryInstance(scene, scene.instance.id, viewer), 403, "forbidden");
  assert.deepEqual(await rowOf(server, row.id), row);
});

test("[ours.review.credential-kinds] agents and provisioners reach no delivery, and strangers even less", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, instance, provisioner, reviewer } = scene;
  const row = await decideAndAttempt(scene);
  const refusals = {
    wrong_credential_kind: [instance.token, provisioner],
    invalid_credential: ["", "nonsense", `${reviewer.slice(0, -1)}!`],
  } as const;
  for (const [code, tokens] of Object.entries(refusals)) {
    for (const token of tokens) {
      const answers = [
        await server.call("GET", DELIVERIES, { token }),
        await server.call("GET", `${DELIVERIES}/${row.id}`, { token }),
        await retry(scene, row.id, token),
        await retryInstance(scene, instance.id, token),
      ];
      const status = code === "invalid_credential" ? 401 : 403;
      for (const answer of answers) assertRefused(answer, status, code as keyof typeof refusals);
    }
  }
  assert.deepEqual(await rowOf(server, row.id), row);
});
