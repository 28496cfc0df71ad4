import assert from "node:assert/strict";
import { test } from "node:test";
import { copyDeliveries } from "./support/deliveries.ts";
import { denied, notificationOf, pass, untilAttempted } from "./support/notifications.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import { provisionWithReceiver, startWebhookScene } from "./support/webhook-scene.ts";

/** Ways for one path to fail on a host that is well. */
const FAILURES: Readonly<Record<string, AnswerMessage>> = {
  "breaks off": (_, response) => response.socket?.destroy(),
  "answers headers without end": (_, response) => {
    response.setHeader("x-long", "a".repeat(10_000)).end();
  },
  "answers no HTTP": (_, response) => response.socket?.end("SSH-2.0-none\r\n"),
  "says nothing": () => undefined,
};

for (const [name, fails] of Object.entries(FAILURES)) {
  test(`[ours.delivery.breaker] [ours.delivery.isolation] a path that ${name} does not pause other receivers of its host`, async (t) => {
    const scene = await startWebhookScene(t, {
      onNotification: (received, response) => {
        if (received.path === "/bad") fails(received, response);
        else response.writeHead(204).end();
      },
    });
    const { server, clock } = scene;
    const bad = await provisionWithReceiver(scene, { url: scene.receiver.url("/bad") });
    const good = await provisionWithReceiver(scene, { url: scene.receiver.url("/good") });
    const original = await notificationOf(scene, await denied(scene, bad.token));
    // Enough to keep the one breaker open, in any order of delivery.
    const due = { next_at: clock.now(), claimed_until: null, attempts: 0 };
    await copyDeliveries(server, original, Array(30).fill(due));
    await pass(scene, 30_000, 500);
    const { last_status, ended_by } = await untilAttempted(
      scene,
      await denied(scene, good.token),
      1,
    );
    assert.deepEqual([last_status, ended_by], [204, "acknowledged"]);
  });
}
