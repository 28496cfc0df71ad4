/**
 * The receiver with signed webhooks, stores in memory and on disk, and failures of both.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { signWebhook } from "@countersign/protocol";
import {
  MemoryReceiverStore,
  type ProposedDelivery,
  proposeDelivery,
  Receiver,
  type ReceiverOptions,
  type ResolvedEvent,
} from "@countersign/sdk";
import { FileReceiverStore } from "@countersign/sdk/file-store";
import { nodeHandler } from "@countersign/sdk/node";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { manualTiming } from "./support/manual-timing.ts";

const INSTANCE = "0197f3c5-3e7c-7a7e-8d3b-000000000001";
const CHALLENGE = "0197f3c5-3e7c-4a7e-8d3b-000000000002";
const EVENT_ID = "0197f3c5-3e7c-7a7e-8d3b-000000000003";

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
    onResolved: (event) => void events.push(event),
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

test("[ours.sdk.receiver.once] a repeated event is acknowledged, also after a restart, and handled once", async (t) => {
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
  await next.receiver.settled();
  assert.equal(next.events.length, 0);
});

test("[ours.sdk.receiver.once] an event that cannot be stored is not acknowledged", async () => {
  const errors: unknown[] = [];
  const store = new MemoryReceiverStore();
  store.keep = () => Promise.reject(new Error("disk full"));
  const { receiver, events } = newReceiver({ store, onError: (error) => errors.push(error) });
  await post(receiver, { body: verification() });
  const response = await post(receiver, { body: resolved() });
  assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "5"]);
  assert.deepEqual([events.length, errors.length], [0, 1]);
});

/** Time in which each sleep ends when the test says so, or when it is aborted. */
function steppedTiming() {
  const manual = manualTiming();
  const waits: { readonly ms: number; readonly wake: () => void }[] = [];
  const sleep = (ms: number, signal?: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => reject(signal.reason));
    waits.push({ ms, wake: resolve });
    return promise;
  };
  const nextWait = () => eventually("a retry", () => waits.shift());
  return { timing: { ...manual, sleep }, nextWait };
}

test("[ours.sdk.receiver.resumes] a failed onResolved is called again with growing delays until it succeeds", async (t) => {
  const folder = temporaryFolder(t);
  const { timing, nextWait } = steppedTiming();
  const failures: [unknown, ResolvedEvent | undefined][] = [];
  let attempts = 0;
  const first = newReceiver({
    store: new FileReceiverStore(folder),
    onResolved: () => {
      attempts++;
      if (attempts < 12) throw new Error("not now");
    },
    onError: (error, event) => failures.push([error, event]),
    timing,
  });
  await post(first.receiver, { body: verification() });
  assert.equal((await post(first.receiver, { body: resolved() })).status, 204);
  const delays: number[] = [];
  for (let i = 0; i < 11; i++) {
    const { ms, wake } = await nextWait();
    delays.push(ms);
    wake();
  }
  await first.receiver.settled();
  assert.equal(attempts, 12);
  assert.deepEqual(delays.slice(0, 4), [500, 1_000, 2_000, 4_000]);
  assert.equal(delays.at(-1), 150_000);
  assert.deepEqual([failures.length, failures[0]?.[1]?.id], [11, EVENT_ID]);
  const next = newReceiver({ store: new FileReceiverStore(folder) });
  await next.receiver.settled();
  assert.equal(next.events.length, 0);
});

test("[ours.sdk.receiver.resumes] a new receiver handles the events that an earlier one did not finish", async (t) => {
  const folder = temporaryFolder(t);
  const { timing, nextWait } = steppedTiming();
  const first = newReceiver({
    store: new FileReceiverStore(folder),
    onResolved: () => Promise.reject(new Error("not now")),
    onError: () => {},
    timing,
  });
  await post(first.receiver, { body: verification() });
  await post(first.receiver, { body: resolved() });
  await nextWait();
  await first.receiver.close();
  const next = newReceiver({ store: new FileReceiverStore(folder) });
  await next.receiver.settled();
  assert.deepEqual(
    next.events.map(({ id }) => id),
    [EVENT_ID],
  );
  const last = newReceiver({ store: new FileReceiverStore(folder) });
  await last.receiver.settled();
  assert.equal(last.events.length, 0);
});

test("[ours.sdk.receiver.resumes] close waits for a running onResolved and starts no other", async () => {
  const running = Promise.withResolvers<void>();
  let attempts = 0;
  const { receiver } = newReceiver({
    onResolved: () => {
      attempts++;
      return running.promise;
    },
    onError: () => {},
  });
  await post(receiver, { body: verification() });
  await post(receiver, { body: resolved() });
  let isClosed = false;
  const closing = receiver.close().then(() => {
    isClosed = true;
  });
  await receiver.fetch(new Request("https://x/"));
  assert.deepEqual([attempts, isClosed], [1, false]);
  running.reject(new Error("too late"));
  await closing;
  assert.equal(attempts, 1);
});

test("[ours.sdk.receiver.resumes] an event is handled also if its store failed after it stored the event", async () => {
  const store = new MemoryReceiverStore();
  const keep = store.keep.bind(store);
  store.keep = async (event) => {
    await keep(event);
    throw new Error("connection lost");
  };
  const { receiver, events } = newReceiver({ store, onError: () => {} });
  await receiver.settled();
  await post(receiver, { body: verification() });
  assert.equal((await post(receiver, { body: resolved() })).status, 503);
  store.keep = keep;
  assert.equal((await post(receiver, { body: resolved() })).status, 204);
  await receiver.settled();
  assert.equal(events.length, 1);
});

test("[ours.sdk.receiver.resumes] a store that is not available at the start is read again", async () => {
  const store = new MemoryReceiverStore();
  await store.keep({ id: EVENT_ID, instanceId: INSTANCE, requestId: CHALLENGE, createdAt: 0 });
  const unfinished = store.unfinished.bind(store);
  const errors: unknown[] = [];
  let reads = 0;
  store.unfinished = async () => {
    reads++;
    if (reads < 3) throw new Error("connection refused");
    return unfinished();
  };
  const timing = manualTiming();
  const { receiver, events } = newReceiver({
    store,
    timing,
    onError: (error) => errors.push(error),
  });
  await receiver.settled();
  assert.deepEqual([errors.length, timing.sleeps.length, events.length], [2, 2, 1]);
});

test("[ours.sdk.receiver.once] an event that arrives while the receiver reads unfinished events is handled once", async () => {
  const store = new MemoryReceiverStore();
  const stale = Promise.withResolvers<readonly ResolvedEvent[]>();
  store.unfinished = () => stale.promise;
  const { receiver, events } = newReceiver({ store });
  await post(receiver, { body: verification() });
  await post(receiver, { body: resolved() });
  await eventually("the first onResolved", () => events[0]);
  stale.resolve([...events]);
  await receiver.settled();
  assert.equal(events.length, 1);
});

test("[ours.sdk.receiver.resumes] a finish that fails is repeated without another onResolved", async () => {
  const store = new MemoryReceiverStore();
  const finish = store.finish.bind(store);
  let finishes = 0;
  store.finish = async (id) => {
    finishes++;
    if (finishes < 3) throw new Error("disk full");
    await finish(id);
  };
  const { receiver, events } = newReceiver({ store, onError: () => {}, timing: manualTiming() });
  await post(receiver, { body: verification() });
  await post(receiver, { body: resolved() });
  await receiver.settled();
  assert.deepEqual([finishes, events.length], [3, 1]);
  assert.deepEqual(await store.unfinished(), []);
});

test("[ours.sdk.receiver.resumes] a receiver without a store or onResolved returns invalid_option", () => {
  const store = new MemoryReceiverStore();
  const registrations = {};
  for (const options of [
    { store, registrations },
    { registrations, onResolved: () => {} },
  ]) {
    assert.throws(() => new Receiver(options as unknown as ReceiverOptions), {
      code: "invalid_option",
    });
  }
});

test("[ours.sdk.receiver.verified] behind Node's server, a body that is too large, incomplete or not a webhook is rejected, and the next one is answered", async (t) => {
  const { receiver } = newReceiver();
  const listener = createHttpServer(nodeHandler(receiver)).listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/hook`;
  const large = await fetch(url, { method: "POST", body: " ".repeat(20_000) });
  assert.equal(large.status, 400);
  const cut = connect(port, "127.0.0.1");
  cut.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf");
  await once(listener, "request");
  cut.destroy();
  assert.equal((await fetch(url)).status, 405);
  const headers = { "webhook-id": EVENT_ID, "webhook-timestamp": "1", "webhook-signature": "v1," };
  const body = JSON.stringify(verification());
  assert.equal((await fetch(url, { method: "POST", headers, body })).status, 401);
});

test("[ours.sdk.receiver.resumes] a runtime that stops after the response gets the promise of onResolved in waitUntil", async () => {
  const { receiver, events } = newReceiver();
  await post(receiver, { body: verification() });
  const promises: Promise<unknown>[] = [];
  const bytes = new TextEncoder().encode(JSON.stringify(resolved()));
  const atS = Math.floor(Date.now() / 1000);
  const key = Buffer.from(DELIVERY.signingSecret.slice("whsec_".length), "base64");
  const headers = {
    "webhook-id": EVENT_ID,
    "webhook-timestamp": String(atS),
    "webhook-signature": await signWebhook(key, EVENT_ID, atS, bytes),
  };
  const request = new Request("https://x/", { method: "POST", headers, body: bytes });
  await receiver.fetch(request, { waitUntil: (promise) => void promises.push(promise) });
  await Promise.all(promises);
  assert.deepEqual([promises.length, events.length], [1, 1]);
});

test("[ours.sdk.receiver.resumes] an event of an earlier process that is delivered again during the search is handled", async () => {
  const store = new MemoryReceiverStore();
  await newReceiver({ store }).receiver.settled();
  const event = { id: EVENT_ID, instanceId: INSTANCE, requestId: CHALLENGE, createdAt: 0 };
  await store.keep(event);
  const search = Promise.withResolvers<readonly ResolvedEvent[]>();
  store.unfinished = () => search.promise;
  const { receiver, events } = newReceiver({ store });
  await post(receiver, { body: verification() });
  assert.equal((await post(receiver, { body: resolved() })).status, 204);
  search.resolve([event]);
  await receiver.settled();
  assert.deepEqual(events, [event]);
});

test("[ours.sdk.receiver.resumes] a runtime that stops after the response waits for events of an earlier process", async () => {
  const store = new MemoryReceiverStore();
  await store.keep({ id: EVENT_ID, instanceId: INSTANCE, requestId: CHALLENGE, createdAt: 0 });
  const handled = Promise.withResolvers<void>();
  const { receiver } = newReceiver({ store, onResolved: () => handled.promise });
  const promises: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>) => void promises.push(promise);
  await receiver.fetch(new Request("https://x/"), { waitUntil });
  let isOver = false;
  const waiting = Promise.all(promises).then(() => {
    isOver = true;
  });
  await store.unfinished();
  await new Promise(setImmediate);
  assert.deepEqual([promises.length, isOver], [1, false]);
  handled.resolve();
  await waiting;
});

test("[ours.sdk.receiver.resumes] an event of an earlier process is handled, even if its second delivery ends after the search", async () => {
  const store = new MemoryReceiverStore();
  const event = { id: EVENT_ID, instanceId: INSTANCE, requestId: CHALLENGE, createdAt: 0 };
  await store.keep(event);
  const search = Promise.withResolvers<readonly ResolvedEvent[]>();
  const kept = Promise.withResolvers<boolean>();
  store.unfinished = () => search.promise;
  store.keep = () => kept.promise;
  const { receiver, events } = newReceiver({ store });
  await post(receiver, { body: verification() });
  const delivered = post(receiver, { body: resolved() });
  search.resolve([event]);
  await receiver.settled();
  kept.resolve(false);
  assert.equal((await delivered).status, 204);
  await receiver.settled();
  assert.deepEqual(events, [event]);
});

test("[ours.sdk.receiver.resumes] an event that a failing store stored during a search is found by another search", async () => {
  const store = new MemoryReceiverStore();
  const { keep, unfinished } = {
    keep: store.keep.bind(store),
    unfinished: store.unfinished.bind(store),
  };
  const stale = Promise.withResolvers<readonly ResolvedEvent[]>();
  store.unfinished = () => stale.promise;
  store.keep = async (event) => {
    await keep(event);
    throw new Error("connection lost");
  };
  const { receiver, events } = newReceiver({ store, onError: () => {} });
  await post(receiver, { body: verification() });
  assert.equal((await post(receiver, { body: resolved() })).status, 503);
  store.unfinished = unfinished;
  stale.resolve([]);
  await receiver.settled();
  assert.equal(events.length, 1);
});
