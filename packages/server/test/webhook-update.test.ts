import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import type { ErrorResponse, Instance, ProvisionInstanceResponse } from "@countersign/protocol";
import { Webhook } from "standardwebhooks";
import { systemClock } from "../src/clock.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { auditOf, cancel } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import type { AnswerMessage, Received } from "./support/tls-receiver.ts";
import { turns } from "./support/until.ts";
import { countRows, ManualVerifications, verificationRows } from "./support/verifications.ts";
import {
  answerChallenge,
  OTHER_SECRET,
  outbox,
  provisionWithReceiver,
  REGISTRATION_ID,
  SIGNING_SECRET,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
} from "./support/webhook-scene.ts";

const OTHER_ID = "0a4d7d0a-1b1f-4a53-8a57-6f2f5a1f9e02";

let answer: AnswerMessage = answerChallenge;
const scene = await startWebhookScene(
  { after },
  {
    // Near real time, because a verifier that is not ours reads its own clock.
    clock: new ManualClock(systemClock.now()),
    onVerification: (received, response) => answer(received, response),
  },
);
const { server, receiver, provisioner, notifications } = scene;

beforeEach(() => {
  answer = answerChallenge;
});

const refuse: AnswerMessage = (_, response) => response.writeHead(403).end();

interface Provisioned {
  readonly id: string;
  readonly token: string;
}

/** An instance named `before` with the scene's receiver, unless the fields say otherwise. */
async function provision(fields: object = { delivery: scene.delivery() }): Promise<Provisioned> {
  const body = { instance_name: "before", ...fields };
  const call = { token: provisioner, key: server.freshKey(), body };
  const { json } = await server.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
  return { id: json.instance.id, token: json.credential.token };
}

async function read(id: string): Promise<Instance> {
  const path = `/v1/instances/${id}`;
  const { status, json } = await server.call<Instance>("GET", path, { token: provisioner });
  assert.equal(status, 200);
  return json;
}

function update(id: string, body: object, key?: string): Promise<Answer<Instance & ErrorResponse>> {
  return tryUpdate(scene, id, body, key);
}

/** An instance as it is answered with a receiver at this path of the scene's. */
function withReceiver(id: string, name: string, path = "/hook?team=a", to = REGISTRATION_ID) {
  return { id, name, delivery: { type: "webhook", url: receiver.url(path), registration_id: to } };
}

/** Judged by an implementation that is not ours. */
function isSignedWith(secret: string, { headers, body }: Received): boolean {
  try {
    new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

/** Ends a request of the instance and waits for its notification. */
async function notified({ token }: Provisioned): Promise<Received> {
  const count = notifications.length;
  const { id } = await server.submit(token);
  await cancel(server, token, id);
  await untilDelivered(scene, () => notifications.length > count, "the notification arrives");
  return notifications[count] as Received;
}

/** No verification is sent, and nothing is stored. */
async function assertNothingHappens(work: () => Promise<unknown>): Promise<void> {
  const before = [await countRows(server), await verificationRows(server), receiver.connections];
  await work();
  const then = [await countRows(server), await verificationRows(server), receiver.connections];
  assert.deepEqual(then, before);
}

test("[delivery.update.replaces] [delivery.shape] an update gives a receiver to an instance that had none", async () => {
  const instance = await provision({});
  const { status, json } = await update(instance.id, { delivery: scene.delivery() });
  assert.equal(status, 200);
  assert.deepEqual(json, withReceiver(instance.id, "before"));
  assert.deepEqual(await read(instance.id), json);
  assert.equal((await notified(instance)).path, "/hook?team=a");
});

test("[delivery.update.replaces] a new delivery replaces URL, registration id and secret, after it was verified with them", async () => {
  const instance = await provision();
  assert.equal(isSignedWith(SIGNING_SECRET, await notified(instance)), true);
  const delivery = scene.delivery({
    url: receiver.url("/new"),
    registration_id: OTHER_ID,
    signing_secret: OTHER_SECRET,
  });
  const { json } = await update(instance.id, { delivery });
  assert.deepEqual(json, withReceiver(instance.id, "before", "/new", OTHER_ID));
  assert.deepEqual(await read(instance.id), json);
  const verification = receiver.requests.at(-1) as Received;
  const after = await notified(instance);
  for (const received of [verification, after]) {
    assert.equal(received.path, "/new");
    assert.equal(isSignedWith(OTHER_SECRET, received), true);
    assert.equal(isSignedWith(SIGNING_SECRET, received), false);
  }
  assert.equal(JSON.parse(verification.body.toString()).registration_id, OTHER_ID);
  assert.equal(JSON.parse(verification.body.toString()).instance_id, instance.id);
});

test("[delivery.update.replaces] an existing receiver is verified again, and only the secret may change", async () => {
  const instance = await provision();
  const { connections } = receiver;
  await update(instance.id, { delivery: scene.delivery({ signing_secret: OTHER_SECRET }) });
  assert.equal(receiver.connections, connections + 1);
  assert.deepEqual(await read(instance.id), withReceiver(instance.id, "before"));
  assert.equal(isSignedWith(OTHER_SECRET, await notified(instance)), true);
});

test("[delivery.update.replaces] an update in the audit log names the registration and no secret", async () => {
  const { id } = await provision({});
  await update(id, { delivery: scene.delivery({ registration_id: OTHER_ID }) });
  await update(id, { delivery: null });
  await update(id, { instance_name: "later" });
  const updates = (await auditOf(scene, `instance:${id}`)).slice(1);
  const details = updates.map(({ detail }) => detail);
  assert.deepEqual(details, [{ registration_id: OTHER_ID }, { registration_id: null }, {}]);
});

test("[delivery.update.together] name and delivery are applied together, after the verification and not before", async (t) => {
  const manual = new ManualVerifications();
  const waiting = await startWebhookScene(t, { onVerification: manual.receive });
  const { instance } = await waiting.server.provision(waiting.provisioner, "before");
  const path = `/v1/instances/${instance.id}`;
  const now = () => waiting.server.call<Instance>("GET", path, { token: waiting.provisioner });
  const body = { instance_name: "after", delivery: waiting.delivery() };
  const updating = tryUpdate(waiting, instance.id, body);
  const { accept } = await manual.arrived(1);
  assert.deepEqual((await now()).json, instance);
  accept();
  const { json } = await updating;
  assert.equal(json.name, "after");
  assert.equal(json.delivery?.registration_id, REGISTRATION_ID);
  assert.deepEqual((await now()).json, json);
});

test("[delivery.update.removes] a null delivery removes the receiver, ends what waits for it and sends no more", async (t) => {
  const failing = await startWebhookScene(t, {
    onNotification: (_, response) => response.writeHead(500).end(),
  });
  const { id, token } = await provisionWithReceiver(failing);
  const request = await failing.server.submit(token);
  await cancel(failing.server, token, request.id);
  const isTried = async () => (await outbox(failing))[0]?.attempts === 1;
  await untilDelivered(failing, isTried, "an attempt has failed");
  const { status, json } = await tryUpdate(failing, id, { delivery: null });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).sort(), ["id", "name"]);
  const [row] = await outbox(failing);
  assert.deepEqual([row?.ended_by, row?.next_at], ["removal", null]);
  const later = await failing.server.submit(token);
  await cancel(failing.server, token, later.id);
  for (let hour = 0; hour < 24; hour++) {
    failing.clock.advance(3_600_000);
    await turns(2);
  }
  assert.equal((await outbox(failing)).length, 1);
  assert.equal(failing.notifications.length, 1);
});

test("[delivery.update.keeps] an update of the name keeps the receiver, shows it, and verifies nothing", async () => {
  const instance = await provision();
  const { connections } = receiver;
  const { json } = await update(instance.id, { instance_name: "after" });
  assert.deepEqual(json, withReceiver(instance.id, "after"));
  assert.deepEqual(await read(instance.id), json);
  assert.equal(receiver.connections, connections);
  assert.equal(isSignedWith(SIGNING_SECRET, await notified(instance)), true);
});

test("[delivery.update.failed] a failed verification returns 422 and names delivery; name and receiver stay unchanged", async () => {
  const instance = await provision();
  const rows = await countRows(server);
  const verifications = (await verificationRows(server)).length;
  answer = refuse;
  const fields = { url: receiver.url("/new"), registration_id: OTHER_ID };
  const delivery = scene.delivery({ ...fields, signing_secret: OTHER_SECRET });
  const refused = await update(instance.id, { instance_name: "after", delivery });
  assertRefused(refused, 422, "webhook_verification_failed", "delivery");
  assert.deepEqual(await read(instance.id), withReceiver(instance.id, "before"));
  assert.deepEqual(await countRows(server), rows);
  const left = (await verificationRows(server)).slice(verifications);
  assert.deepEqual(
    left.map(({ failure, lease_until }) => [failure, lease_until]),
    [["webhook_verification_failed", 0]],
  );
  const received = await notified(instance);
  assert.equal(received.path, "/hook?team=a");
  assert.equal(isSignedWith(SIGNING_SECRET, received), true);
});

test("[delivery.update.failed] after a failure the same key and input may be tried again, also after several", async () => {
  const { id } = await provision({});
  const key = server.freshKey();
  const input = { instance_name: "after", delivery: scene.delivery() };
  answer = refuse;
  for (let i = 0; i < 2; i++) assert.equal((await update(id, input, key)).status, 422);
  answer = answerChallenge;
  const updated = await update(id, input, key);
  assert.equal(updated.status, 200, updated.text);
  assert.deepEqual(await read(id), updated.json);
  assert.equal((await update(id, input, key)).text, updated.text);
});

test("[delivery.update.conflict-after-failure] after a failed verification the same key with other input returns 409 and changes nothing", async () => {
  const { id } = await provision({});
  const before = await read(id);
  const key = server.freshKey();
  const input = { instance_name: "after", delivery: scene.delivery() };
  answer = refuse;
  assert.equal((await update(id, input, key)).status, 422);
  answer = answerChallenge;
  const others = [
    { delivery: scene.delivery({ registration_id: OTHER_ID }) },
    { delivery: null },
    { instance_name: "after" },
  ];
  for (const other of others) {
    assertRefused(await update(id, other, key), 409, "idempotency_conflict");
    assert.deepEqual(await read(id), before);
  }
  assert.equal((await update(id, input, key)).status, 200);
});

test("[delivery.update.replay-no-verification] a replay returns the answer of the first time, sends nothing and applies nothing", async () => {
  const { id } = await provision({});
  const key = server.freshKey();
  const body = { instance_name: "first", delivery: scene.delivery() };
  const first = await update(id, body, key);
  const last = await update(id, {
    instance_name: "last",
    delivery: scene.delivery({ url: receiver.url("/last"), registration_id: OTHER_ID }),
  });
  answer = refuse;
  await assertNothingHappens(async () => {
    for (let i = 0; i < 3; i++) {
      const again = await update(id, body, key);
      assert.equal(again.status, 200);
      assert.equal(again.text, first.text);
    }
  });
  assert.deepEqual(await read(id), last.json);
});

test("[delivery.update.replay-no-verification] a replayed removal does not remove the receiver that came after it", async () => {
  const { id } = await provision();
  const key = server.freshKey();
  const removed = await update(id, { delivery: null }, key);
  await update(id, { delivery: scene.delivery() });
  assert.equal((await update(id, { delivery: null }, key)).text, removed.text);
  assert.deepEqual(await read(id), withReceiver(id, "before"));
});

test("[delivery.update.replay-no-verification] other input under a used key returns 409, and sends and changes nothing", async () => {
  const { id } = await provision({});
  const key = server.freshKey();
  const updated = await update(id, { delivery: scene.delivery() }, key);
  await assertNothingHappens(async () => {
    for (const other of [
      { delivery: null },
      { instance_name: "after" },
      { instance_name: "after", delivery: scene.delivery() },
      { delivery: scene.delivery({ signing_secret: OTHER_SECRET }) },
    ]) {
      assertRefused(await update(id, other, key), 409, "idempotency_conflict");
    }
  });
  assert.deepEqual(await read(id), updated.json);
});

test("[delivery.update.deletion-wins] an instance that is unknown, deleted or another project's returns 404, and nothing is sent to its receiver", async () => {
  const deleted = await provision();
  const key = server.freshKey();
  const body = { instance_name: "after", delivery: scene.delivery() };
  assert.equal((await update(deleted.id, body, key)).status, 200);
  await server.call("DELETE", `/v1/instances/${deleted.id}`, { token: provisioner });
  const foreign = await server.instance("elsewhere");
  await assertNothingHappens(async () => {
    for (const id of [randomUUID(), deleted.id, foreign.id]) {
      assertRefused(await update(id, body), 404, "not_found");
    }
    assertRefused(await update(deleted.id, body, key), 404, "not_found");
  });
});

test("[delivery.input.shape] [delivery.input.type] [delivery.input.secret] [delivery.url.syntax] an update rejects the same input as a provisioning, and changes nothing", async () => {
  const { id } = await provision();
  const faults = [
    [{ url: undefined }, "invalid_request", "delivery.url"],
    [{ secret: "x" }, "invalid_request", "delivery.secret"],
    [{ type: "email" }, "unsupported_delivery_type", "delivery.type"],
    [{ registration_id: "mine" }, "invalid_request", "delivery.registration_id"],
    [{ signing_secret: "whsec_" }, "invalid_request", "delivery.signing_secret"],
    [{ url: "http://localhost/" }, "invalid_webhook_url", "delivery.url"],
  ] as const;
  await assertNothingHappens(async () => {
    for (const [fields, code, param] of faults) {
      const body = { instance_name: "after", delivery: scene.delivery(fields) };
      assertRefused(await update(id, body), 400, code, param);
    }
  });
  assert.deepEqual(await read(id), withReceiver(id, "before"));
});

test("[delivery.url.addresses] an update to a private address returns 400; name and receiver stay unchanged", async () => {
  const { id } = await provision();
  const { connections } = receiver;
  for (const host of ["10.0.0.1", "169.254.169.254", "[::1]"]) {
    const delivery = scene.delivery({ url: `https://${host}:${receiver.port}/` });
    const refused = await update(id, { instance_name: "after", delivery });
    assertRefused(refused, 400, "invalid_webhook_url", "delivery.url");
  }
  assert.equal(receiver.connections, connections);
  assert.deepEqual(await read(id), withReceiver(id, "before"));
});
