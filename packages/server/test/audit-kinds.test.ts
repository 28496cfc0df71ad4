import assert from "node:assert/strict";
import { test } from "node:test";
import { assertVerified, untilSealed } from "./support/audit-logs.ts";
import { attemptNext, denied, notificationOf, untilAttempted } from "./support/notifications.ts";
import { auditOf, countRequests, end, startScene } from "./support/scene.ts";
import { until } from "./support/until.ts";
import {
  provisionWithReceiver,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const HOUR = 3_600_000;

async function endsOf(scene: WebhookScene, subject: string) {
  const entries = await auditOf(scene, subject);
  return entries.filter(({ kind }) => kind === "delivery.ended");
}

test("[ours.audit.every-transition] a delivery that was acknowledged has its entry, once", async (t) => {
  const scene = await startWebhookScene(t);
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => scene.notifications.length === 1, "it arrives");
  await untilAttempted(scene, request, 1);
  const row = await notificationOf(scene, request);
  const [ended, ...more] = await endsOf(scene, `request:${request.id}`);
  assert.deepEqual(more, []);
  assert.deepEqual([ended?.at, ended?.actor], [row.ended_at, "system:delivery"]);
  const detail = { delivery_id: row.id, by: "acknowledged", attempts: 1, http_status: 204 };
  assert.deepEqual(ended?.detail, detail);
});

test("[ours.audit.every-transition] a delivery that ends after 168 hours has exactly one entry", async (t) => {
  const onNotification = (_: unknown, response: { writeHead(n: number): { end(): void } }) =>
    response.writeHead(500).end();
  const scene = await startWebhookScene(t, { onNotification });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  let row = await untilAttempted(scene, request, 1);
  while (row.ended_at === null) row = await attemptNext(scene, request);
  assert.equal(row.ended_by, "window");
  const [ended, ...more] = await endsOf(scene, `request:${request.id}`);
  assert.deepEqual(more, []);
  assert.deepEqual([ended?.detail.by, ended?.detail.attempts], ["window", row.attempts]);
});

test("[ours.audit.every-transition] deliveries that end with their receiver have one entry for all of them", async (t) => {
  for (const by of ["removal", "deletion"]) {
    const onNotification = (_: unknown, response: { writeHead(n: number): { end(): void } }) =>
      response.writeHead(500).end();
    const scene = await startWebhookScene(t, { onNotification });
    const instance = await provisionWithReceiver(scene);
    const requests = [];
    for (let i = 0; i < 4; i++) requests.push(await denied(scene, instance.token));
    for (const request of requests) await untilAttempted(scene, request, 1);
    if (by === "removal") await tryUpdate(scene, instance.id, { delivery: null });
    else {
      const call = { token: scene.provisioner };
      await scene.server.call("DELETE", `/v1/instances/${instance.id}`, call);
    }
    const ended = await endsOf(scene, `instance:${instance.id}`);
    assert.deepEqual(
      ended.map(({ detail }) => detail),
      [{ deliveries: 4, by }],
    );
    for (const { id } of requests) assert.deepEqual(await endsOf(scene, `request:${id}`), []);
  }
});

test("[ours.audit.every-transition] rows purged after their retention are recorded as counts, and the log still verifies", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance } = scene;
  const ids = [];
  for (let i = 0; i < 3; i++) {
    const request = await server.submit(instance.token);
    await end(scene, request, "cancelled");
    ids.push(request.id);
  }
  await untilSealed(scene);
  clock.advance(169 * HOUR);
  const isPurged = async () => {
    clock.advance(60_000);
    return (await countRequests(scene)) === 0;
  };
  await until(isPurged, "the requests are purged");
  await untilSealed(scene);
  const { store } = server.provider.context;
  const rows = await store.all("select project_id, detail from audit_entry where kind = $1", [
    "rows.erased",
  ]);
  const details = rows.map((row) => JSON.parse(String(row.detail)));
  const sum = (name: string) => details.reduce((n, detail) => n + (detail[name] ?? 0), 0);
  assert.deepEqual([sum("requests"), sum("provisioning_results")], [3, 1]);
  for (const id of ids) assert.equal((await auditOf(scene, `request:${id}`)).length, 2);
  await assertVerified(scene);
});
