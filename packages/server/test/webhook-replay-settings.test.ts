import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { startWebhookScene, tryProvision, tryUpdate } from "./support/webhook-scene.ts";

/** Settings that an operator may change between an answer that was lost and its replay. */
const CHANGES = [
  { settings: { webhooks_off: "true" }, code: "unsupported_delivery_type", param: "delivery" },
  { settings: {}, code: "invalid_webhook_url", param: "delivery.url" },
] as const;

for (const { settings, code, param } of CHANGES) {
  test(`[delivery.provision.replay-no-verification] [delivery.update.replay-no-verification] what was accepted is still replayed when it would now be ${code}`, async (t) => {
    const scene = await startWebhookScene(t);
    const provisioned = await tryProvision(scene, scene.delivery(), "provision");
    assert.equal(provisioned.status, 201, provisioned.text);
    const { id } = provisioned.json.instance;
    const updated = await tryUpdate(scene, id, { delivery: scene.delivery() }, "update");
    assert.equal(updated.status, 200, updated.text);
    await scene.server.stop();

    const server = await startTestProvider(t, {
      data: scene.server.data,
      clock: scene.clock,
      settings,
    });
    const after = { ...scene, server };
    const replayed = await tryProvision(after, scene.delivery(), "provision");
    assert.deepEqual([replayed.status, replayed.text], [200, provisioned.text]);
    const again = await tryUpdate(after, id, { delivery: scene.delivery() }, "update");
    assert.deepEqual([again.status, again.text], [200, updated.text]);

    assertRefused(await tryProvision(after, scene.delivery(), "another"), 400, code, param);
    const body = { delivery: scene.delivery() };
    assertRefused(await tryUpdate(after, id, body, "another"), 400, code, param);
    const changed = scene.delivery({ registration_id: "0b0a7c1e-57a8-4d0e-8f5c-9c1f0f7a2d11" });
    assertRefused(await tryProvision(after, changed, "provision"), 409, "idempotency_conflict");
  });
}
