import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { RETRY_WINDOW_MS } from "../src/core/retry.ts";
import {
  answering,
  copyDeliveries,
  type DeliveryScene,
  decide,
  decideAndAttempt,
  type Reviewed,
  rowOf,
  startDeliveryScene,
  type WireDelivery,
} from "./support/deliveries.ts";
import { assertRefused } from "./support/envelope.ts";
import type { Answer } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";
import { provisionWithReceiver, tryUpdate, untilDelivered } from "./support/webhook-scene.ts";

const DELIVERIES = "/review/v1/deliveries";

type ReaderScene = Pick<DeliveryScene, "server" | "reviewer">;

function list({ server, reviewer: token }: ReaderScene, query = ""): Promise<Answer<Reviewed>> {
  return server.call("GET", DELIVERIES + query, { token });
}

function show({ server, reviewer: token }: ReaderScene, id: string): Promise<Answer<Reviewed>> {
  return server.call("GET", `${DELIVERIES}/${id}`, { token });
}

async function listed(scene: ReaderScene, query = ""): Promise<readonly WireDelivery[]> {
  const { status, text, json } = await list(scene, query);
  assert.equal(status, 200, text);
  return json.deliveries;
}

async function listedIds(scene: ReaderScene, query = ""): Promise<string[]> {
  return (await listed(scene, query)).map(({ id }) => id);
}

/** Every page, followed by `next` to the end. */
async function allPages(scene: ReaderScene, query: string): Promise<string[]> {
  const ids: string[] = [];
  let after = "";
  for (let page = 0; page < 100; page++) {
    const { json } = await list(scene, query + after);
    ids.push(...json.deliveries.map(({ id }) => id));
    if (json.next === null) return ids;
    after = `&after=${json.next}`;
  }
  throw new Error("the pages do not end");
}

function timestamp(ms: number | null): string {
  return new Date(ms ?? Number.NaN).toISOString();
}

/** Lets the workers go on until the delivery of this row has ended. */
/** Sets the time when the worker is at rest: one that was just asking who waits asked too early. */
async function leap({ clock }: DeliveryScene, at: number): Promise<void> {
  await turns();
  clock.set(at);
}

async function untilEnded(scene: DeliveryScene, id: string): Promise<void> {
  const hasEnded = async () => (await rowOf(scene.server, id)).ended_at !== null;
  await untilDelivered(scene, hasEnded, "the end of the delivery");
}

test("[ours.deliveries.show] a failed delivery shows its attempts, the last outcome and the next attempt", async (t) => {
  const scene = await startDeliveryScene(t);
  const { id, request_id, next_at } = await decideAndAttempt(scene);
  const at = scene.clock.now();
  scene.clock.set(at + 1_000);

  const shown = await show(scene, id);

  assert.equal(shown.status, 200, shown.text);
  const { instance, ...delivery } = shown.json;
  assert.equal(instance.id, scene.instance.id);
  assert.match(instance.name, /./);
  assert.deepEqual(delivery, {
    id,
    request_id,
    status: "waiting",
    destination: `https://localhost:${scene.receiver.port}`,
    attempts: 1,
    last_attempt: { at: timestamp(at), outcome: "rejected", http_status: 500 },
    next_attempt_at: timestamp(next_at),
    gives_up_at: timestamp(at + 168 * 3_600_000),
    created_at: timestamp(at),
  });
  assert.equal((await show(scene, request_id)).text, shown.text);
  assert.equal((await show(scene, request_id.toUpperCase())).text, shown.text);
  assert.deepEqual(await listed(scene), [shown.json]);
});

test("[ours.deliveries.show] before its first attempt a delivery is due, and has no last one", async (t) => {
  const scene = await startDeliveryScene(t);
  const { id } = await decide(scene);
  const { status, attempts, last_attempt, next_attempt_at } = (await show(scene, id)).json;
  assert.deepEqual([status, attempts, last_attempt], ["waiting", 0, undefined]);
  assert.equal(next_attempt_at, timestamp(scene.clock.now()));
});

test("[ours.deliveries.show] it is in flight while the receiver has not answered", async (t) => {
  const scene = await startDeliveryScene(t);
  const arrived = Promise.withResolvers<() => void>();
  scene.answer = (_, response) => arrived.resolve(() => response.writeHead(204).end());
  const { id } = await decide(scene);
  let answer: (() => void) | undefined;
  arrived.promise.then((end) => {
    answer = end;
  });
  await untilDelivered(scene, () => answer !== undefined, "the attempt arrives");
  const { status, attempts, ended_at } = (await show(scene, id)).json;
  assert.deepEqual([status, attempts, ended_at], ["in_flight", 0, undefined]);
  assert.deepEqual(await listedIds(scene), [id]);
  answer?.();
  await untilEnded(scene, id);
});

test("[ours.deliveries.show] outcomes without an answer have no status", async (t) => {
  const scene = await startDeliveryScene(t);
  scene.answer = (_, response) => response.destroy();
  const { id } = await decideAndAttempt(scene);
  const at = timestamp(scene.clock.now());
  const { last_attempt } = (await show(scene, id)).json;
  assert.deepEqual(last_attempt, { at, outcome: "unreachable:reset" });
});

test("[ours.deliveries.show] a delivery that has ended says when and by what", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, provisioner, clock, instance, receiver } = scene;
  const destination = `https://localhost:${receiver.port}`;
  const assertEnded = async (id: string, by: string, at: number, where: string | null) => {
    const { json } = await show(scene, id);
    const shown = [json.status, json.ended_by, json.ended_at, json.next_attempt_at];
    assert.deepEqual(shown, ["ended", by, timestamp(at), undefined]);
    assert.equal(json.destination, where);
  };
  const late = await decideAndAttempt(scene);
  await leap(scene, clock.now() + RETRY_WINDOW_MS);
  const windowEnd = clock.now();
  // The end is not recorded yet.
  await assertEnded(late.id, "window", windowEnd, destination);
  assert.deepEqual(await listed(scene), []);
  await untilEnded(scene, late.id);
  await assertEnded(late.id, "window", windowEnd, destination);

  scene.answer = answering(204);
  const good = await decide(scene);
  await untilEnded(scene, good.id);
  await assertEnded(good.id, "acknowledged", clock.now(), destination);

  scene.answer = answering(500);
  const removed = await decideAndAttempt(scene);
  assert.equal((await tryUpdate(scene, instance.id, { delivery: null })).status, 200);
  await assertEnded(removed.id, "removal", clock.now(), null);

  const again = await tryUpdate(scene, instance.id, { delivery: scene.delivery() });
  assert.equal(again.status, 200, again.text);
  // A later receiver gets nothing of what was written for the one before.
  await assertEnded(removed.id, "removal", clock.now(), null);
  const deleted = await decideAndAttempt(scene);
  const path = `/v1/instances/${instance.id}`;
  assert.equal((await server.call("DELETE", path, { token: provisioner })).status, 204);
  await assertEnded(deleted.id, "deletion", clock.now(), null);
});

test("[ours.deliveries.show] a delivery of a removed receiver is shown as ended before the end is recorded", async (t) => {
  const scene = await startDeliveryScene(t);
  const { id } = await decideAndAttempt(scene);
  const sql = "update instance set delivery_epoch = delivery_epoch + 1";
  await scene.server.provider.context.store.transact((tx) => tx.run(sql));
  const { status, ended_by, ended_at, destination } = (await show(scene, id)).json;
  assert.deepEqual(
    [status, ended_by, ended_at, destination],
    ["ended", "removal", undefined, null],
  );
  assert.deepEqual(await listed(scene), []);
});

test("[ours.deliveries.show] a delivery that does not exist, or a request without a notification, returns 404", async (t) => {
  const scene = await startDeliveryScene(t);
  const bare = await scene.server.provision(scene.provisioner);
  const unnotified = await scene.server.submit(bare.credential.token);
  await scene.server.decide(scene.reviewer, unnotified.id, "deny");
  for (const id of [randomUUID(), unnotified.id, scene.instance.id, "x", "retry"]) {
    assertRefused(await show(scene, id), 404, "not_found");
  }
});

test("[ours.deliveries.list] waiting deliveries of one instance are listed page by page", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, reviewer } = scene;
  const other = await provisionWithReceiver(scene);
  const own: string[] = [];
  for (let i = 0; i < 3; i++) {
    own.push((await decide(scene)).id);
    await decide({ server, reviewer, instance: other });
  }
  const query = `?limit=2&instance_id=${scene.instance.id}`;
  assert.deepEqual((await allPages(scene, query)).sort(), own.sort());
  assert.deepEqual(await listed(scene, `?instance_id=${randomUUID()}`), []);
  const refused = [`?state=ended&instance_id=${other.id}`, "?instance_id=x"];
  for (const wrong of refused) {
    assertRefused(await list(scene, wrong), 400, "invalid_request", "instance_id");
  }
});

test("[ours.deliveries.list] waiting ones are listed by their next attempt, ended ones the latest first", async (t) => {
  const scene = await startDeliveryScene(t);
  const { clock, server } = scene;
  assert.deepEqual((await list(scene)).json, {
    deliveries: [],
    next: null,
    now: timestamp(clock.now()),
  });
  const failed = await decideAndAttempt(scene);
  const nextAt = failed.next_at ?? 0;
  const [second, first, third] = await copyDeliveries(server, failed, [
    { next_at: nextAt + 20_000 },
    { next_at: nextAt + 10_000 },
    { next_at: nextAt + 30_000 },
  ]);
  assert.deepEqual(await listedIds(scene), [failed.id, first, second, third]);
  assert.deepEqual(await listedIds(scene, "?state=waiting"), [failed.id, first, second, third]);
  assert.deepEqual(await listedIds(scene, "?state=ended"), []);

  scene.answer = answering(204);
  const ended: string[] = [];
  for (const id of [failed.id, first, second, third]) {
    const row = await rowOf(server, id ?? "");
    await leap(scene, row.next_at ?? 0);
    await untilEnded(scene, row.id);
    ended.unshift(row.id);
  }
  assert.deepEqual(await listedIds(scene), []);
  assert.deepEqual(await listedIds(scene, "?state=ended"), ended);
});

test("[ours.deliveries.list] pages follow each other to the end without a gap or a repetition", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, clock } = scene;
  const failed = await decideAndAttempt(scene);
  // Equal times, so that the order within one moment matters too.
  const later = Array.from({ length: 22 }, (_, i) => ({
    next_at: clock.now() + 10_000 + (i % 3),
  }));
  const ids = [failed.id, ...(await copyDeliveries(server, failed, later))].sort();
  for (const limit of [1, 5, 22, 23, 24, 200]) {
    const waiting = await allPages(scene, `?limit=${limit}`);
    assert.deepEqual([...waiting].sort(), ids);
    assert.deepEqual(waiting, await listedIds(scene));
  }
  const past = Array.from({ length: 9 }, (_, i) => ({
    next_at: null,
    ended_at: clock.now() - (i % 2),
    ended_by: "window",
  }));
  const ended = (await copyDeliveries(server, failed, past)).sort();
  for (const limit of [1, 4, 8, 9]) {
    const pages = await allPages(scene, `?state=ended&limit=${limit}`);
    assert.deepEqual([...pages].sort(), ended);
    assert.deepEqual(pages, await listedIds(scene, "?state=ended"));
  }
  // A delivery with an unrecorded end takes its place on a page, and the next one goes on.
  const over = { created_at: clock.now() - RETRY_WINDOW_MS, next_at: clock.now() };
  await copyDeliveries(server, failed, [over, over, over]);
  assert.deepEqual([...(await allPages(scene, "?limit=2"))].sort(), ids);
});

test("[ours.deliveries.list] state, limit and after are checked", async (t) => {
  const scene = await startDeliveryScene(t);
  const wrong = {
    state: ["", "all", "WAITING", "pending", "in_flight"],
    limit: ["", "0", "201", "-1", "1.5", "x"],
    after: ["", "x", "1", "_", `1_${"0".repeat(36)}`, `x_${scene.instance.id}`],
  };
  for (const [param, values] of Object.entries(wrong)) {
    for (const value of values) {
      const answer = await list(scene, `?${param}=${value}`);
      assertRefused(answer, 400, "invalid_request", param);
    }
  }
  const twice = "?state=waiting&state=ended";
  assertRefused(await list(scene, twice), 400, "invalid_request", "state");
});

test("[ours.deliveries.scope] a reviewer sees the deliveries of the token's project only", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server } = scene;
  const row = await decideAndAttempt(scene);
  const reviewer = await server.token({ kind: "reviewer", project: "elsewhere" });
  const outsider = { server, reviewer };
  for (const id of [row.id, row.request_id]) {
    assertRefused(await show(outsider, id), 404, "not_found");
  }
  assert.deepEqual(await listedIds(outsider), []);
  await copyDeliveries(server, row, [{ next_at: null, ended_at: 1, ended_by: "window" }]);
  assert.deepEqual(await listedIds(outsider, "?state=ended"), []);
  assert.equal((await listedIds(scene, "?state=ended")).length, 1);
});

test("[ours.deliveries.no-secrets] no answer holds a secret, or the path or query of the receiver", async (t) => {
  const scene = await startDeliveryScene(t);
  const { server, reviewer: token } = scene;
  const path = "/t0ken-in-path/hook?k3y=in-query";
  const signing_secret = `whsec_${Buffer.alloc(32, "s3cret").toString("base64")}`;
  const changes = { delivery: scene.delivery({ url: scene.receiver.url(path), signing_secret }) };
  assert.equal((await tryUpdate(scene, scene.instance.id, changes)).status, 200);
  const row = await decideAndAttempt(scene);
  assert.equal(scene.notifications.at(-1)?.path, path);
  const body = { instance_id: scene.instance.id };
  const answers = [
    await list(scene),
    await show(scene, row.id),
    await server.call("POST", `${DELIVERIES}/${row.id}/retry`, { token }),
    await server.call("POST", `${DELIVERIES}/retry`, { token, body }),
  ];
  scene.answer = answering(204);
  await untilEnded(scene, row.id);
  answers.push(await list(scene, "?state=ended"), await show(scene, row.id));
  answers.push(await server.call("POST", `${DELIVERIES}/${row.id}/retry`, { token }));
  for (const { text } of answers) {
    assert.doesNotMatch(text, /t0ken|hook|k3y|whsec|c2VjcmV0|request\.resolved/i);
  }
});
