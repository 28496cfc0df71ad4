import assert from "node:assert/strict";
import { test } from "node:test";
import { copyDeliveries } from "./support/deliveries.ts";
import { denied, notificationOf, pass } from "./support/notifications.ts";
import {
  provisionWithReceiver,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
} from "./support/webhook-scene.ts";

test("[ours.delivery.breaker] [delivery.update.replay-no-verification] a replayed update does not end the pause of a receiver that keeps failing", async (t) => {
  const scene = await startWebhookScene(t, {
    onNotification: (_, response) => response.writeHead(500).end(),
  });
  const { server, clock, notifications } = scene;
  const { id, token } = await provisionWithReceiver(scene);
  const update = { delivery: scene.delivery({ url: scene.receiver.url("/second") }) };
  const first = await tryUpdate(scene, id, update, "replace");
  assert.equal(first.status, 200, first.text);
  const original = await notificationOf(scene, await denied(scene, token));
  // More than it takes to open the breaker, all due: only its pause holds the rest back.
  const due = { next_at: clock.now(), claimed_until: null, attempts: 0 };
  await copyDeliveries(server, original, Array(30).fill(due));
  await pass(scene, 1_000);
  let arrived = -1;
  await untilDelivered(
    scene,
    async () => {
      await pass(scene, 0);
      const isQuiet = arrived === notifications.length;
      arrived = notifications.length;
      return isQuiet && arrived >= 5;
    },
    "the pause",
  );
  assert.ok(arrived < 20, `${arrived} attempts before the pause`);

  for (let i = 0; i < 10; i++) {
    const replayed = await tryUpdate(scene, id, update, "replace");
    assert.deepEqual([replayed.status, replayed.json], [200, first.json]);
    await pass(scene, 10, 10);
  }

  assert.equal(notifications.length, arrived);
  const renewed = { delivery: scene.delivery({ url: scene.receiver.url("/second") }) };
  assert.equal((await tryUpdate(scene, id, renewed)).status, 200);
  await untilDelivered(scene, () => notifications.length > arrived, "a new receiver is tried");
});
