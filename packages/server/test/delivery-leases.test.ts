/**
 * How a server handles the leases of the server before it. The folder of a dead server is a copy
 * of the folder of a running one, taken in the middle of its work. The clock does not advance.
 */

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  backupDatabase,
  databaseFile,
  openContext,
  readConfig,
  toSecrets,
  toSettings,
} from "../src/index.ts";
import { releaseLeases } from "../src/operations/deliveries/releaseLeases.ts";
import { testOnly } from "./support/engine.ts";
import { startTestProvider, type TestProvider } from "./support/test-provider.ts";
import { ManualVerifications, verificationRows } from "./support/verifications.ts";
import {
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  tryProvision,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const test = testOnly("sqlite", "leases of a dead replica end by time");

/** Starts a server on what a crash of the scene's would leave behind at this moment. */
async function startAfterCrash(
  t: TestContext,
  { server, clock, receiver }: WebhookScene,
): Promise<TestProvider> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-test-"));
  const data = join(folder, "data");
  mkdirSync(data);
  await backupDatabase(databaseFile(server.data), databaseFile(data));
  copyFileSync(join(server.data, "secret.key"), join(data, "secret.key"));
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const next = await startTestProvider(t, { clock, data, settings, ca: [receiver.certificate] });
  t.after(() => rmSync(folder, { recursive: true }));
  return next;
}

/** A scene whose receiver keeps a notification and answers what comes later. */
async function attempting(t: TestContext): Promise<WebhookScene> {
  let isFirst = true;
  const scene = await startWebhookScene(t, {
    onNotification(_, response) {
      if (isFirst) isFirst = false;
      else response.writeHead(204).end();
    },
  });
  const { token } = await provisionWithReceiver(scene);
  const { id } = await scene.server.submit(token);
  await scene.server.call("DELETE", `/v1/requests/${id}`, { token });
  await untilDelivered(scene, () => scene.notifications.length === 1, "the first attempt");
  return scene;
}

test("[ours.delivery.crash] a notification that a dead server was attempting is due when the next one starts, and not when its lease ends", async (t) => {
  const scene = await attempting(t);
  const { notifications, clock } = scene;
  const next = await startAfterCrash(t, scene);

  const delivered = async () => {
    const [row] = await outbox({ server: next });
    return row?.ended_by === "acknowledged";
  };
  await untilDelivered({ clock }, delivered, "the second attempt");

  assert.equal(notifications.length, 2);
  const [before, after] = notifications;
  assert.deepEqual(after?.body, before?.body);
  assert.equal(after?.headers["webhook-id"], before?.headers["webhook-id"]);
});

test("[ours.verification.takeover] an idempotency key of a verification on a dead server is free when the next server starts", async (t) => {
  const manual = new ManualVerifications();
  const scene = await startWebhookScene(t, { onVerification: manual.receive });
  const key = scene.server.freshKey();
  const first = tryProvision(scene, scene.delivery(), key);
  await manual.arrived(1);
  const next = await startAfterCrash(t, scene);

  const { provisioner } = scene;
  const again = tryProvision({ server: next, provisioner }, scene.delivery(), key);
  (await manual.arrived(2)).accept();
  assert.equal((await again).status, 201);
  // The dead one is none: its receiver may still answer.
  (await manual.arrived(1)).refuse();
  assert.equal((await first).status, 422);
});

test("[event.retry.one-outstanding] a command beside a server leaves the server's leases alone", async (t) => {
  const scene = await attempting(t);
  const { server, clock } = scene;
  const manual = new ManualVerifications();
  const other = await startWebhookScene(t, { onVerification: manual.receive });
  const verifying = tryProvision(other, other.delivery());
  const { accept } = await manual.arrived(1);
  const before = [await outbox({ server }), await verificationRows(other.server)];

  for (const { data } of [server, other.server]) {
    const config = readConfig({ data }, {});
    const parts = { clock };
    const { context, close } = await openContext(toSettings(config), toSecrets(config), parts);
    await releaseLeases(context);
    await close();
  }

  assert.deepEqual([await outbox({ server }), await verificationRows(other.server)], before);
  accept();
  assert.equal((await verifying).status, 201);
});
