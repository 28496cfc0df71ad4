/**
 * Provisioner and receiver with the real provider, over TLS, until a suspended call is resumed.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import {
  ApprovalClient,
  Countersign,
  MemoryReceiverStore,
  MemoryStore,
  type Pending,
  Provisioner,
  proposeDelivery,
  Receiver,
} from "@countersign/sdk";
import { FileReceiverStore } from "@countersign/sdk/file-store";
import { nodeHandler } from "@countersign/sdk/node";
import { temporaryFolder } from "@countersign/testing/child";
import { createSelfSigned } from "../../server/test/support/self-signed.ts";
import { type Lifetime, startTestProvider } from "../../server/test/support/test-provider.ts";
import { until } from "../../server/test/support/until.ts";

/** A receiver that listens on this machine, and a provider that may reach it. */
async function startWorld(t: Lifetime, receiver: Receiver) {
  const { key, certificate } = createSelfSigned();
  const listener = createServer({ key, cert: certificate }, nodeHandler(receiver));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const server = await startTestProvider(t, { ca: [certificate], settings });
  const url = `https://localhost:${(listener.address() as AddressInfo).port}/hook?a=b`;
  const token = await server.token({ kind: "provisioner" });
  const reviewer = await server.token({ kind: "reviewer" });
  return { server, url, reviewer, provisioner: new Provisioner({ url: server.url, token }) };
}

test("[ours.sdk.receiver.resumes] a suspended call is resumed by the notification of its decision", async (t) => {
  const registrations: Record<string, string> = {};
  const suspended = new Map<string, Pending>();
  const ran: unknown[] = [];
  const clients: Countersign[] = [];
  const receiver = new Receiver({
    registrations,
    store: new FileReceiverStore(temporaryFolder(t)),
    onResolved: async ({ requestId }) => {
      const pending = suspended.get(requestId);
      assert.ok(pending !== undefined);
      await clients[0]?.resume(pending, (approved) => ran.push(approved));
    },
  });
  const { server, url, reviewer, provisioner } = await startWorld(t, receiver);
  const delivery = proposeDelivery(url);
  // Not expected yet: the receiver does not know it.
  const early = provisioner.create({ delivery });
  await assert.rejects(early, { providerCode: "webhook_verification_failed", status: 422 });
  registrations[delivery.registrationId] = delivery.signingSecret;
  const { instance, credential } = await provisioner.create({ name: "agent", delivery });
  const { registrationId } = delivery;
  assert.deepEqual(instance.delivery, { url, registrationId });

  const client = new ApprovalClient({ url: server.url, apiKey: credential.take() });
  const approvals = new Countersign({ provider: client, store: new MemoryStore(), wait: false });
  clients.push(approvals);
  const suspension = await approvals.check({
    idempotencyKey: "k",
    tool: "pay",
    arguments: { cents: 5 },
  });
  assert.ok(suspension.status === "pending");
  const { pending } = suspension;
  suspended.set(pending.requestId, pending);
  await server.decide(reviewer, pending.requestId, "approve");
  await until(() => ran.length > 0, "the call runs");
  await receiver.settled();
  assert.deepEqual(ran, [{ cents: 5 }]);
});

test("[ours.sdk.provisioner] an instance is created, read, renamed, deleted, and gets and loses a receiver", async (t) => {
  const registrations: Record<string, string> = {};
  const receiver = new Receiver({
    registrations,
    store: new MemoryReceiverStore(),
    onResolved: () => {},
  });
  const { url, provisioner } = await startWorld(t, receiver);
  const { instance } = await provisioner.create({ name: "one" });
  assert.deepEqual(await provisioner.read(instance.id), instance);
  const delivery = proposeDelivery(url);
  registrations[delivery.registrationId] = delivery.signingSecret;
  const updated = await provisioner.update(instance.id, { name: "two", delivery });
  assert.equal(updated.name, "two");
  assert.equal(updated.delivery?.registrationId, delivery.registrationId);
  assert.equal((await provisioner.update(instance.id, { delivery: null })).delivery, undefined);
  await provisioner.delete(instance.id);
  await provisioner.delete(instance.id);
  await assert.rejects(provisioner.read(instance.id), { code: "refused", status: 404 });
});
