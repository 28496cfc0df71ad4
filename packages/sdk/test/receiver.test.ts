/**
 * Provisioner and receiver with the real provider: over TLS, with the store on disk, until a
 * suspended call is resumed.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";
import { signWebhook } from "@countersign/protocol";
import {
  Client,
  Gate,
  MemoryReceiverStore,
  MemoryStore,
  type Pending,
  type ProposedDelivery,
  Provisioner,
  proposeDelivery,
  Receiver,
  type ReceiverOptions,
  type ResolvedEvent,
  type SdkError,
} from "@countersign/sdk";
import { FileReceiverStore } from "@countersign/sdk/file-store";
import { nodeHandler } from "@countersign/sdk/node";
import { createSelfSigned } from "@countersign/server/test/support/self-signed";
import { type Lifetime, startTestProvider } from "@countersign/server/test/support/test-provider";
import { until } from "@countersign/server/test/support/until";
import { temporaryFolder } from "countersign/test/support/child.ts";

const INSTANCE = "0197f3c5-3e7c-7a7e-8d3b-000000000001";
const CHALLENGE = "0197f3c5-3e7c-4a7e-8d3b-000000000002";
const EVENT_ID = "0197f3c5-3e7c-7a7e-8d3b-000000000003";

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
  return { server, url, reviewer, provisioner: new Provisioner(server.url, token) };
}

test("[ours.sdk.receiver.resumes] a suspended call is resumed by the notification of its decision", async (t) => {
  const registrations: Record<string, string> = {};
  const suspended = new Map<string, Pending>();
  const ran: unknown[] = [];
  const gates: Gate[] = [];
  const receiver = new Receiver({
    registrations,
    store: new FileReceiverStore(temporaryFolder(t)),
    resumers: {
      agent: async ({ requestId }) => {
        const pending = suspended.get(requestId);
        assert.ok(pending !== undefined);
        await gates[0]?.resume(pending, (approved) => ran.push(approved));
      },
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

  const client = new Client(server.url, credential.take());
  const gate = new Gate(client, { store: new MemoryStore(), mode: "async" });
  gates.push(gate);
  const asked = await gate.check({ key: "k", tool: "pay", arguments: { cents: 5 } });
  assert.ok(asked.kind === "pending");
  suspended.set(asked.requestId, asked);
  await server.decide(reviewer, asked.requestId, "approve");
  await until(() => ran.length > 0, "the call runs");
  await receiver.settled();
  assert.deepEqual(ran, [{ cents: 5 }]);
});

test("[ours.sdk.provisioner] an instance is created, read, renamed, given and freed of a receiver, and deleted", async (t) => {
  const registrations: Record<string, string> = {};
  const receiver = new Receiver({
    registrations,
    store: new MemoryReceiverStore(),
    resumers: {},
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

test("[ours.sdk.provisioner] a lost answer is asked for with the same key: there is one instance and one credential", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "provisioner" });
  let left = 2;
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (left-- <= 0) return response;
    throw new TypeError("fetch failed");
  };
  const provisioner = new Provisioner(server.url, token, { fetch: losing });
  const { instance, credential } = await provisioner.create();
  const { store } = server.provider.context;
  assert.equal(Number((await store.get("select count(*) as n from instance"))?.n), 1);
  left = 9;
  const lost = new Provisioner(server.url, token, { fetch: losing, withinMs: 1 });
  const error = await lost.create().catch((thrown: SdkError) => thrown);
  assert.ok(error instanceof Error && error.code === "unavailable" && error.key !== undefined);
  left = 0;
  const again = await provisioner.create({ key: error.key });
  assert.notEqual(again.instance.id, instance.id);
  assert.notEqual(again.credential.take(), credential.take());
  assert.equal(Number((await store.get("select count(*) as n from instance"))?.n), 2);
});

test("[ours.sdk.provisioner.credential] a credential is handed over once, and printed never", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "provisioner" });
  const created = await new Provisioner(server.url, token).create();
  const shown = inspect(created, { depth: 9, showHidden: true }) + JSON.stringify(created);
  const credential = created.credential.take();
  assert.match(credential, /^cs_inst_/);
  assert.ok(!shown.includes(credential));
  assert.throws(() => created.credential.take(), { code: "credential_taken" });
  assert.ok(
    await new Client(server.url, credential).create({
      ...{ key: "k", tool: "t", arguments: {}, timeout: "1m" },
    }),
  );
});

test("[ours.sdk.provisioner] every proposed delivery has a registration and a secret of its own", () => {
  const [one, other] = [proposeDelivery("https://a.example"), proposeDelivery("https://a.example")];
  assert.match(one.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(one.signingSecret, other.signingSecret);
  assert.notEqual(one.registrationId, other.registrationId);
  for (const url of ["http://a.example", "https://u@a.example", "https://a.example#x", "a"]) {
    assert.throws(() => proposeDelivery(url), { code: "invalid_call" }, url);
  }
});

const DELIVERY: ProposedDelivery = proposeDelivery("https://a.example/hook");
const OTHER = proposeDelivery("https://a.example/hook");

function newReceiver(options: Partial<ReceiverOptions> = {}) {
  const events: ResolvedEvent[] = [];
  const receiver = new Receiver({
    registrations: {
      [DELIVERY.registrationId]: DELIVERY.signingSecret,
      [OTHER.registrationId.toUpperCase()]: OTHER.signingSecret,
    },
    store: new MemoryReceiverStore(),
    resumers: { note: (event) => void events.push(event) },
    onError: (error) => assert.fail(String(error)),
    ...options,
  });
  return { receiver, events };
}

interface Sent {
  readonly body: object | string;
  readonly delivery?: ProposedDelivery;
  readonly id?: string;
  readonly ageS?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

async function post(receiver: Receiver, { body, delivery = DELIVERY, ...sent }: Sent) {
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
  const id = sent.id ?? EVENT_ID;
  const atS = Math.floor(Date.now() / 1000) - (sent.ageS ?? 0);
  const key = Buffer.from(delivery.signingSecret.slice("whsec_".length), "base64");
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(atS),
    "webhook-signature": `v1,AAAA ${await signWebhook(key, id, atS, bytes)}`,
    ...sent.headers,
  };
  return receiver.fetch(new Request("https://x/", { method: "POST", headers, body: bytes }));
}

function verification(fields: object = {}) {
  return {
    id: EVENT_ID,
    type: "webhook.verification",
    registration_id: DELIVERY.registrationId,
    instance_id: INSTANCE,
    created_at: "2026-01-01T00:00:00Z",
    challenge: CHALLENGE,
    ...fields,
  };
}

function resolved(fields: object = {}) {
  return {
    id: EVENT_ID,
    type: "request.resolved",
    instance_id: INSTANCE,
    request_id: "0197f3c5-3e7c-7a7e-8d3b-000000000004",
    created_at: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

test("[ours.sdk.receiver.verified] a challenge is answered for an expected registration with its signature alone", async () => {
  const { receiver } = newReceiver();
  const proven = await post(receiver, { body: verification() });
  assert.deepEqual([proven.status, await proven.json()], [200, { challenge: CHALLENGE }]);
  const unexpected = verification({ registration_id: CHALLENGE });
  const cases: [Sent, number][] = [
    [{ body: unexpected }, 403],
    [{ body: verification(), delivery: OTHER }, 401],
    [{ body: verification(), ageS: 301 }, 401],
    [{ body: verification(), ageS: -301 }, 401],
    [{ body: verification(), headers: { "webhook-signature": "v1,AAAA" } }, 401],
    [{ body: verification(), headers: { "webhook-id": CHALLENGE } }, 401],
    [{ body: verification(), headers: { "webhook-timestamp": "soon" } }, 400],
    [{ body: verification({ extra: 1 }) }, 400],
    [{ body: verification({ challenge: "x" }) }, 400],
    [{ body: verification({ type: "other" }) }, 400],
    [{ body: JSON.stringify(verification()).replace("{", '{"id":"",') }, 400],
    [{ body: "{" }, 400],
    [{ body: `${" ".repeat(20_000)}{}` }, 400],
  ];
  for (const [sent, status] of cases) {
    const response = await post(receiver, sent);
    assert.equal(response.status, status, JSON.stringify(sent));
    assert.equal(await response.text(), "");
  }
  assert.equal((await receiver.fetch(new Request("https://x/"))).status, 405);
});

test("[ours.sdk.receiver.verified] an event is believed with a secret under which its instance was verified", async () => {
  const { receiver, events } = newReceiver();
  assert.equal((await post(receiver, { body: resolved() })).status, 401);
  await post(receiver, { body: verification() });
  assert.equal((await post(receiver, { body: resolved(), delivery: OTHER })).status, 401);
  assert.equal((await post(receiver, { body: resolved({ id: CHALLENGE }) })).status, 400);
  assert.equal((await post(receiver, { body: resolved(), ageS: 301 })).status, 401);
  assert.equal((await post(receiver, { body: resolved({ request_id: null }) })).status, 400);
  assert.equal(events.length, 0);
  assert.equal((await post(receiver, { body: resolved() })).status, 204);
  await receiver.settled();
  assert.deepEqual(events, [
    {
      id: EVENT_ID,
      instanceId: INSTANCE,
      requestId: "0197f3c5-3e7c-7a7e-8d3b-000000000004",
      createdAt: Date.UTC(2026, 0, 1),
    },
  ]);
});

test("[ours.sdk.receiver.once] an event that comes again is acknowledged, also after a restart, and wakes nobody", async (t) => {
  const folder = temporaryFolder(t);
  const first = newReceiver({ store: new FileReceiverStore(folder) });
  await post(first.receiver, { body: verification() });
  const twice = [
    post(first.receiver, { body: resolved() }),
    post(first.receiver, { body: resolved() }),
  ];
  for (const { status } of await Promise.all(twice)) assert.equal(status, 204);
  await first.receiver.settled();
  assert.equal(first.events.length, 1);
  const next = newReceiver({ store: new FileReceiverStore(folder) });
  assert.equal((await post(next.receiver, { body: resolved() })).status, 204);
  await next.receiver.resumeUnfinished();
  assert.equal(next.events.length, 0);
});

test("[ours.sdk.receiver.once] what cannot be kept is not acknowledged", async () => {
  const errors: unknown[] = [];
  const store = new MemoryReceiverStore();
  store.keep = () => Promise.reject(new Error("disk full"));
  const { receiver, events } = newReceiver({ store, onError: (error) => errors.push(error) });
  await post(receiver, { body: verification() });
  const response = await post(receiver, { body: resolved() });
  assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "5"]);
  assert.deepEqual([events.length, errors.length], [0, 1]);
});

test("[ours.sdk.receiver.resumes] an event whose resumer failed, or that a crash cut off, wakes it again", async (t) => {
  const folder = temporaryFolder(t);
  const failures: unknown[] = [];
  const first = newReceiver({
    store: new FileReceiverStore(folder),
    resumers: {
      fails: () => {
        throw new Error("not now");
      },
    },
    onError: (error) => failures.push(error),
  });
  await post(first.receiver, { body: verification() });
  assert.equal((await post(first.receiver, { body: resolved() })).status, 204);
  await first.receiver.settled();
  assert.equal(failures.length, 1);
  const next = newReceiver({ store: new FileReceiverStore(folder) });
  await next.receiver.resumeUnfinished();
  await next.receiver.resumeUnfinished();
  assert.equal(next.events.length, 1);
});
