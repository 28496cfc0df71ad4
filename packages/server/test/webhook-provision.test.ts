import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import type {
  ErrorResponse,
  Instance,
  ProvisionInstanceResponse,
  WebhookDelivery,
} from "@countersign/protocol";
import { advanceUntil } from "./support/advance.ts";
import { assertRefused } from "./support/envelope.ts";
import { TableResolver } from "./support/test-egress.ts";
import type { Answer } from "./support/test-provider.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import { turns } from "./support/until.ts";
import { countRows, ManualVerifications, verificationRows } from "./support/verifications.ts";
import {
  answerChallenge,
  REGISTRATION_ID,
  SIGNING_SECRET,
  startWebhookScene,
  tryProvision,
} from "./support/webhook-scene.ts";

let answer: AnswerMessage = answerChallenge;
const scene = await startWebhookScene(
  { after },
  { onVerification: (received, response) => answer(received, response) },
);
const { server, receiver, provisioner } = scene;

beforeEach(() => {
  answer = answerChallenge;
});

const refuse: AnswerMessage = (_, response) => response.writeHead(403).end();

type Provisioned = ProvisionInstanceResponse & ErrorResponse;

function provision(body: object, key = server.freshKey()): Promise<Answer<Provisioned>> {
  return server.call("POST", "/v1/instances", { token: provisioner, key, body });
}

function read(id: string): Promise<Answer<Instance & ErrorResponse>> {
  return server.call("GET", `/v1/instances/${id}`, { token: provisioner });
}

function expected(fields: Partial<WebhookDelivery> = {}): WebhookDelivery {
  const url = receiver.url("/hook?team=a");
  return { type: "webhook", url, registration_id: REGISTRATION_ID, ...fields };
}

/** Nothing of it was sent or stored; verifications included. */
async function assertNothingHappens(work: () => Promise<unknown>): Promise<void> {
  const before = [await countRows(server), await verificationRows(server), receiver.connections];
  await work();
  const then = [await countRows(server), await verificationRows(server), receiver.connections];
  assert.deepEqual(then, before);
}

test("[delivery.shape] a provisioned instance has its type, URL and registration id and no more, also when it is read", async () => {
  const { status, json, text } = await tryProvision(scene, scene.delivery());
  assert.equal(status, 201, text);
  assert.deepEqual(json.instance.delivery, expected());
  assert.deepEqual(Object.keys(json.instance).sort(), ["delivery", "id", "name"]);
  assert.deepEqual((await read(json.instance.id)).json, json.instance);
});

test("[delivery.shape] [delivery.input.registration-id] URL and registration id are returned unchanged", async () => {
  const url = receiver.url("/Hook/%7Ea?B=c&d=%2F").replace("localhost", "LocalHost");
  const registrationId = REGISTRATION_ID.toUpperCase();
  const fields = { url, registration_id: registrationId };
  const { json } = await tryProvision(scene, scene.delivery(fields));
  assert.deepEqual(json.instance.delivery, expected(fields));
  assert.deepEqual((await read(json.instance.id)).json.delivery, expected(fields));
  const sent = receiver.requests.at(-1);
  assert.equal(sent?.path, "/Hook/%7Ea?B=c&d=%2F");
  assert.equal(JSON.parse(sent.body.toString()).registration_id, registrationId);
});

test("[delivery.input.shape] a delivery that lacks a field returns 400 and names it", async () => {
  await assertNothingHappens(async () => {
    for (const name of ["type", "url", "registration_id", "signing_secret"]) {
      const refused = await tryProvision(scene, scene.delivery({ [name]: undefined }));
      assertRefused(refused, 400, "invalid_request", `delivery.${name}`);
    }
  });
});

test("[delivery.input.shape] a delivery with another field returns 400 and names it", async () => {
  await assertNothingHappens(async () => {
    for (const name of ["secret", "URL", "headers", "id"]) {
      const refused = await tryProvision(scene, scene.delivery({ [name]: "x" }));
      assertRefused(refused, 400, "invalid_request", `delivery.${name}`);
    }
  });
});

test("[delivery.input.shape] a delivery or field with a wrong type returns 400", async () => {
  await assertNothingHappens(async () => {
    for (const delivery of [null, "webhook", 1, true, []]) {
      const refused = await tryProvision(scene, delivery);
      assertRefused(refused, 400, "invalid_request", "delivery");
    }
    for (const name of ["type", "url", "registration_id", "signing_secret"]) {
      for (const value of [null, 1, false, {}, ["x"]]) {
        const refused = await tryProvision(scene, scene.delivery({ [name]: value }));
        assertRefused(refused, 400, "invalid_request", `delivery.${name}`);
      }
    }
  });
});

test("[delivery.input.type] a type other than webhook returns 400 unsupported_delivery_type, for any other fields", async () => {
  await assertNothingHappens(async () => {
    for (const type of ["email", "Webhook", "webhook ", "", "queue"]) {
      for (const delivery of [scene.delivery({ type }), { type, topic: "t" }]) {
        const refused = await tryProvision(scene, delivery);
        assertRefused(refused, 400, "unsupported_delivery_type", "delivery.type");
      }
    }
  });
});

test("[delivery.input.registration-id] a registration id that is not a UUID returns 400", async () => {
  await assertNothingHappens(async () => {
    for (const id of [
      "",
      "registration",
      REGISTRATION_ID.slice(1),
      `${REGISTRATION_ID}0`,
      `{${REGISTRATION_ID}}`,
      REGISTRATION_ID.replaceAll("-", ""),
      ` ${REGISTRATION_ID}`,
      REGISTRATION_ID.replace("5", "g"),
      `urn:uuid:${REGISTRATION_ID}`,
    ]) {
      const refused = await tryProvision(scene, scene.delivery({ registration_id: id }));
      assertRefused(refused, 400, "invalid_request", "delivery.registration_id");
    }
  });
});

test("[delivery.input.secret] a secret other than whsec_ and the canonical base64 of 32 bytes returns 400 without the secret", async () => {
  const encoded = SIGNING_SECRET.slice("whsec_".length);
  await assertNothingHappens(async () => {
    for (const secret of [
      "",
      "whsec_",
      encoded,
      `WHSEC_${encoded}`,
      `whsec-${encoded}`,
      ` ${SIGNING_SECRET}`,
      SIGNING_SECRET.slice(0, -1),
      `${SIGNING_SECRET}=`,
      `${SIGNING_SECRET}\n`,
      // The same 32 bytes, with other bits where none are left.
      SIGNING_SECRET.replace("h8=", "h9="),
      ...[31, 33, 24, 64].map((length) => `whsec_${Buffer.alloc(length, 1).toString("base64")}`),
      `whsec_${Buffer.alloc(32, 255).toString("base64url")}=`,
    ]) {
      const refused = await tryProvision(scene, scene.delivery({ signing_secret: secret }));
      assertRefused(refused, 400, "invalid_request", "delivery.signing_secret");
      if (secret.length > 10) assert.equal(refused.text.includes(secret.slice(6, -2)), false);
    }
  });
});

test("[delivery.url.syntax] a URL that is not HTTPS, or has userinfo or a fragment, returns 400 invalid_webhook_url", async () => {
  const { port } = receiver;
  await assertNothingHappens(async () => {
    for (const url of [
      "",
      "localhost",
      `//localhost:${port}/`,
      `http://localhost:${port}/`,
      `HTTPS://localhost:${port}/`,
      `wss://localhost:${port}/`,
      `https:localhost:${port}/`,
      `https://a@localhost:${port}/`,
      `https://a:b@localhost:${port}/`,
      `https://@localhost:${port}/`,
      `https://localhost:${port}/#`,
      `https://localhost:${port}/hook#part`,
      `https://localhost:${port}/a b`,
      `https://localhost:${port}\\hook`,
      `https://localhost:${port}/\n`,
      "https:///hook",
      "https://localhost:22/",
      "https://localhost:99999/",
      "https://127.1/",
      "https://0x7f.1/",
      `https://localhost:${port}/${"a".repeat(2_048)}`,
    ]) {
      const refused = await tryProvision(scene, scene.delivery({ url }));
      assertRefused(refused, 400, "invalid_webhook_url", "delivery.url");
    }
  });
});

test("[delivery.url.addresses] a literal of an address that is not public returns 400, and the server does not connect to it", async (t) => {
  const guarded = await startWebhookScene(t, { settings: { webhook_allow_cidrs: "" } });
  const { port } = guarded.receiver;
  const rows = await countRows(guarded.server);
  const hosts = [
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "0.0.0.0",
    "100.64.0.1",
    "[::1]",
    "[fd00::1]",
    "[fe80::1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
  ];
  for (const host of hosts) {
    const url = `https://${host}:${port}/`;
    const refused = await tryProvision(guarded, guarded.delivery({ url }));
    assertRefused(refused, 400, "invalid_webhook_url", "delivery.url");
  }
  assert.equal(guarded.receiver.connections, 0);
  assert.deepEqual(await countRows(guarded.server), rows);
  // All of them were well-formed: it was the verification that refused them.
  const failures = (await verificationRows(guarded.server)).map(({ failure }) => failure);
  assert.deepEqual(
    failures,
    hosts.map(() => "invalid_webhook_url"),
  );
});

test("[delivery.url.addresses] a name with one private address among its addresses is rejected", async (t) => {
  const resolver = new TableResolver();
  const settings = { webhook_allow_cidrs: "" };
  const guarded = await startWebhookScene(t, { settings, resolver });
  const url = `https://hooks.example.com:${guarded.receiver.port}/`;
  for (const addresses of [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["2001:4860::1", "::1"]]) {
    resolver.answers["hooks.example.com"] = addresses;
    const refused = await tryProvision(guarded, guarded.delivery({ url }));
    assertRefused(refused, 400, "invalid_webhook_url", "delivery.url");
  }
  assert.equal(guarded.receiver.connections, 0);
});

test("[delivery.provision.verified-first] [verification.reserved-id] before the receiver answers there is no instance, no credential and no receiver", async (t) => {
  const manual = new ManualVerifications();
  const waiting = await startWebhookScene(t, { onVerification: manual.receive });
  const before = await countRows(waiting.server);
  const provisioning = tryProvision(waiting, waiting.delivery());
  const { message, accept } = await manual.arrived(1);
  assert.deepEqual(await countRows(waiting.server), before);
  for (const method of ["GET", "DELETE"]) {
    const path = `/v1/instances/${message.instance_id}`;
    const use = await waiting.server.call(method, path, { token: waiting.provisioner });
    assertRefused(use, 404, "not_found");
  }
  accept();
  const { status, json } = await provisioning;
  assert.equal(status, 201);
  assert.equal(json.instance.id, message.instance_id);
  await waiting.server.submit(json.credential.token);
});

test("[delivery.provision.failed] a failed verification returns 422 with the field delivery and creates nothing", async () => {
  const before = await countRows(server);
  const others = (await verificationRows(server)).length;
  answer = refuse;
  const refused = await tryProvision(scene, scene.delivery());
  assertRefused(refused, 422, "webhook_verification_failed", "delivery");
  assert.deepEqual(await countRows(server), before);
  const [row, ...more] = (await verificationRows(server)).slice(others);
  assert.deepEqual(more, []);
  assert.equal(row?.failure, "webhook_verification_failed");
  assert.equal(row.lease_until, 0);
  assertRefused(await read(row.instance_id), 404, "not_found");
});

test("[delivery.provision.retry-after-failure] the same key and input may be tried again after a failure, also after several", async () => {
  const key = server.freshKey();
  const body = { instance_name: "persistent", delivery: scene.delivery() };
  answer = refuse;
  for (let i = 0; i < 3; i++) {
    const refused = await provision(body, key);
    assertRefused(refused, 422, "webhook_verification_failed", "delivery");
  }
  const rows = (await verificationRows(server)).length;
  answer = answerChallenge;
  const created = await provision(body, key);
  assert.equal(created.status, 201, created.text);
  assert.equal(created.json.instance.name, "persistent");
  assert.equal((await verificationRows(server)).length, rows - 1);
  assert.equal((await provision(body, key)).status, 200);
});

test("[delivery.provision.conflict-after-failure] after a failed verification the same key with other input returns 409, and the same input is still verified", async () => {
  const key = server.freshKey();
  const body = { delivery: scene.delivery() };
  answer = refuse;
  assertRefused(await provision(body, key), 422, "webhook_verification_failed", "delivery");
  const before = await countRows(server);
  answer = answerChallenge;
  const others = [
    { delivery: scene.delivery({ registration_id: randomUUID() }) },
    { instance_name: "polls" },
    {},
  ];
  for (const other of others) {
    assertRefused(await provision(other, key), 409, "idempotency_conflict");
  }
  assert.deepEqual(await countRows(server), before);
  assert.equal((await provision(body, key)).status, 201);
  assert.equal((await provision(body, key)).status, 200);
});

test("[delivery.provision.conflict-after-failure] the key of a failed verification is bound for 168 hours after the last attempt, then it is free", async (t) => {
  const refusing = await startWebhookScene(t, { onVerification: refuse });
  const key = refusing.server.freshKey();
  const isPurged = async () => (await verificationRows(refusing.server)).length === 0;
  for (let attempt = 0; attempt < 2; attempt++) {
    const failed = await tryProvision(refusing, refusing.delivery(), key);
    assert.equal(failed.status, 422);
    for (let hours = 0; hours < 164; hours += 4) {
      refusing.clock.advance(4 * 3_600_000);
      await turns();
    }
    assert.equal(await isPurged(), false);
  }
  const { server, provisioner, clock } = refusing;
  const other = () => server.call("POST", "/v1/instances", { token: provisioner, key, body: {} });
  assertRefused(await other(), 409, "idempotency_conflict");
  await advanceUntil(clock, 3_600_000, 6, isPurged);
  assert.equal((await other()).status, 201);
});

test("[delivery.provision.replay-no-verification] a replay returns instance, delivery and credential of the first time and sends nothing", async () => {
  const key = server.freshKey();
  const body = { instance_name: "replayed", delivery: scene.delivery() };
  const created = await provision(body, key);
  const { connections } = receiver;
  const rows = await countRows(server);
  answer = refuse;
  for (let i = 0; i < 3; i++) {
    const again = await provision(body, key);
    assert.equal(again.status, 200);
    assert.equal(again.text, created.text);
  }
  assert.equal(receiver.connections, connections);
  assert.deepEqual(await countRows(server), rows);
});

test("[delivery.provision.replay-no-verification] the same delivery laid out differently is the same input", async () => {
  const key = server.freshKey();
  const created = await provision({ delivery: scene.delivery() }, key);
  const { connections } = receiver;
  const members = Object.entries(scene.delivery()).reverse();
  const delivery = members.map(([name, value]) => `"${name}" : ${JSON.stringify(value)}`);
  const body = `{ "delivery": {\n${delivery.join(",\n").replaceAll("/", "\\/")} } }`;
  const again = await server.call("POST", "/v1/instances", { token: provisioner, key, body });
  assert.equal(again.status, 200, again.text);
  assert.equal(again.text, created.text);
  assert.equal(receiver.connections, connections);
});

test("[delivery.provision.replay-no-verification] a replay shows the receiver of the first time, also when it was removed since", async () => {
  const key = server.freshKey();
  const body = { delivery: scene.delivery() };
  const created = await provision(body, key);
  const { id } = created.json.instance;
  const removal = { token: provisioner, key: server.freshKey(), body: { delivery: null } };
  assert.equal((await server.call("PATCH", `/v1/instances/${id}`, removal)).status, 200);
  assert.equal((await provision(body, key)).text, created.text);
  assert.equal((await read(id)).json.delivery, undefined);
});

test("[delivery.provision.replay-no-verification] other input under a used key, and a replay after the deletion, return 409 and send nothing", async () => {
  const key = server.freshKey();
  const body = { delivery: scene.delivery() };
  const { json } = await provision(body, key);
  const { connections } = receiver;
  for (const other of [
    {},
    { instance_name: "other" },
    { ...body, instance_name: "other" },
    ...[{ url: receiver.url("/") }, { registration_id: REGISTRATION_ID.toUpperCase() }].map(
      (fields) => ({ delivery: scene.delivery(fields) }),
    ),
  ]) {
    assertRefused(await provision(other, key), 409, "idempotency_conflict");
  }
  await server.call("DELETE", `/v1/instances/${json.instance.id}`, { token: provisioner });
  assertRefused(await provision(body, key), 409, "instance_deleted");
  assert.equal(receiver.connections, connections);
});
