/**
 * Signals between replicas, over a bus in memory whose messages the test delivers.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { turns, until } from "../../test/support/until.ts";
import { systemClock, systemRandom } from "../clock.ts";
import type { ReplicaBus, ReplicaBusListener } from "../storage/replica-bus.ts";
import { LocalWake } from "./local-wake.ts";
import { SharedWake } from "./shared-wake.ts";
import type { Signal } from "./wake.ts";

const PROJECT = "0f9a8f1f1c114b9e";

class ManualBus implements ReplicaBus {
  readonly messageBytesMax = 7_900;
  readonly messages: string[] = [];
  listener: ReplicaBusListener | undefined;
  isClosed = false;
  #answer: ((wasSent: boolean) => void) | undefined;

  open(listener: ReplicaBusListener): void {
    this.listener = listener;
  }

  send(message: string): Promise<boolean> {
    assert.equal(this.#answer, undefined, "two messages are on their way at one time");
    this.messages.push(message);
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  /** The message on its way has arrived, or has not. */
  answer(wasSent = true): void {
    this.#answer?.(wasSent);
    this.#answer = undefined;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

interface Replica {
  readonly wake: SharedWake;
  readonly bus: ManualBus;
  /** Request ids that it had to read again. */
  readonly rereads: (readonly string[] | "all")[];
}

function start(): Replica {
  const bus = new ManualBus();
  const wake = new SharedWake({
    local: new LocalWake(),
    bus,
    random: systemRandom(),
    clock: systemClock,
  });
  const rereads: Replica["rereads"] = [];
  wake.open({
    onListening() {},
    onLost() {},
    onResolvedElsewhere: (requestIds) => rereads.push(requestIds),
  });
  return { wake, bus, rereads };
}

const resolved = (requestId: string = randomUUID()): Signal & { readonly kind: "resolved" } => ({
  kind: "resolved",
  requestId,
  status: "approved",
  by: "reviewer",
  projectId: PROJECT,
  notifies: undefined,
});

/** The message with this ordinal, from 1, once it is on its way. */
async function sent({ bus: { messages } }: Replica, ordinal: number): Promise<string> {
  await until(() => messages.length >= ordinal, `message ${ordinal}`);
  return messages[ordinal - 1] ?? "";
}

function receive({ bus }: Replica, message: string): void {
  bus.listener?.onMessage(message);
}

test("[ours.replicas.woken] a signal wakes local waiters at once, and is sent to other replicas once", async () => {
  const [here, there] = [start(), start()];
  const signal = resolved();
  const calls: string[] = [];
  here.wake.onResolved(signal.requestId, PROJECT, () => calls.push("here"));
  there.wake.onResolved(signal.requestId, PROJECT, () => calls.push("there"));
  here.wake.signal(signal);
  assert.deepEqual(calls, ["here"]);
  const message = await sent(here, 1);
  for (const replica of [here, there]) receive(replica, message);
  assert.deepEqual([here.rereads, there.rereads], [[], [[signal.requestId]]]);
  // A message wakes no waiter: the database must confirm it first.
  assert.deepEqual(calls, ["here"]);
  there.wake.resolvedElsewhere(signal.requestId);
  assert.deepEqual(calls, ["here", "there"]);
  here.bus.answer();
  await turns();
  assert.deepEqual([here.bus.messages.length, there.bus.messages.length], [1, 0]);
  assert.deepEqual([here.wake.sent, here.wake.received, there.wake.received], [1, 0, 1]);
});

test("[ours.replicas.woken] [ours.verdict.wakes] a verification, a retry or a vote wakes waiters on other replicas", async () => {
  const [here, there] = [start(), start()];
  const scope = `update:${randomUUID()}:${randomUUID()}`;
  const signals: Signal[] = [
    { kind: "verified", scope, keyHash: "k".repeat(43) },
    { kind: "retryRequested", projectId: PROJECT, instanceId: randomUUID() },
    { kind: "voted", projectId: PROJECT, requestId: randomUUID() },
  ];
  const received: Signal[] = [];
  there.wake.onSignal((signal) => received.push(signal));
  for (const signal of signals) here.wake.signal(signal);
  receive(there, await sent(here, 1));
  assert.deepEqual(received, signals);
});

test("[ours.replicas.woken] no replica rereads a request without waiters", async () => {
  const [here, there] = [start(), start()];
  const [awaited, other] = [resolved(), resolved()];
  const end = there.wake.onResolved(awaited.requestId, PROJECT, () => {});
  for (const signal of [other, awaited]) here.wake.signal(signal);
  const message = await sent(here, 1);
  receive(there, message);
  end();
  receive(there, message);
  assert.deepEqual(there.rereads, [[awaited.requestId]]);
});

test("[ours.replicas.coalesced] signals during the send of a message go into the next one", async () => {
  const replica = start();
  const signals = Array.from({ length: 101 }, () => resolved());
  replica.wake.signal(signals[0] as Signal);
  const first = await sent(replica, 1);
  for (const signal of signals.slice(1)) replica.wake.signal(signal);
  await turns();
  assert.equal(replica.bus.messages.length, 1);
  replica.bus.answer();
  const second = await sent(replica, 2);
  replica.bus.answer();
  assert.equal(first.split(" ").length, 3);
  assert.equal(second.split(" ").length, 102);
  await replica.wake.close();
  assert.deepEqual([replica.bus.messages.length, replica.wake.sent], [2, 2]);
});

test("[ours.replicas.coalesced] a thousand decisions become one message with the star", async () => {
  const [here, there] = [start(), start()];
  for (let i = 0; i < 1_000; i++) here.wake.signal(resolved());
  const message = await sent(here, 1);
  receive(there, message);
  assert.deepEqual(there.rereads, ["all"]);
  here.bus.answer();
  const next = resolved();
  here.wake.signal(next);
  assert.match(await sent(here, 2), new RegExp(` r:${next.requestId}$`));
});

test("[ours.replicas.coalesced] a message names one opened request of a project", async () => {
  const replica = start();
  const open = (projectId: string): Signal & { readonly kind: "opened" } => {
    return { kind: "opened", projectId, requestId: randomUUID(), deadlineAt: 1 };
  };
  const [first, later] = [open(PROJECT), open(PROJECT)];
  const other = open(PROJECT.replace("0", "1"));
  for (const signal of [first, later, other]) replica.wake.signal(signal);
  const message = await sent(replica, 1);
  assert.ok(message.includes(first.requestId) && message.includes(other.requestId));
  assert.ok(!message.includes(later.requestId));
  replica.bus.answer();
  replica.wake.signal(later);
  assert.ok((await sent(replica, 2)).includes(later.requestId));
});

test("[ours.replicas.coalesced] a message is as long as one may be, and not longer", async () => {
  for (const [count, isEverything] of [
    [201, false],
    [202, true],
  ] as const) {
    const { wake, bus } = start();
    for (let i = 0; i < count; i++) wake.signal(resolved());
    const message = await sent({ wake, bus, rereads: [] }, 1);
    assert.ok(message.length <= bus.messageBytesMax);
    assert.equal(message.endsWith(" *"), isEverything);
  }
});

test("[ours.replicas.coalesced] repeated signals of one request are sent once", async () => {
  const replica = start();
  const signal = resolved();
  for (let i = 0; i < 1_000; i++) replica.wake.signal(signal);
  assert.equal((await sent(replica, 1)).split(" ").length, 3);
});

test("[ours.replicas.not-notified] a new listener rereads everything, and an unsent message is not counted", async () => {
  const replica = start();
  assert.equal(replica.wake.isListening, false);
  replica.bus.listener?.onListening();
  assert.deepEqual([replica.wake.isListening, replica.rereads], [true, ["all"]]);
  replica.wake.signal(resolved());
  await sent(replica, 1);
  replica.bus.answer(false);
  replica.bus.listener?.onLost(new Error("cut"));
  await replica.wake.close();
  assert.deepEqual([replica.wake.isListening, replica.wake.sent], [false, 0]);
});

test("[ours.replicas.untrusted] a text that is not a message of a replica has no effect", async () => {
  const replica = start();
  replica.wake.onSignal(() => assert.fail("a listener received a signal"));
  for (const text of ["", "*", "1 me *", "1 00000000-0000-4000-8000-000000000000 r:x"]) {
    receive(replica, text);
  }
  assert.deepEqual([replica.rereads, replica.wake.received], [[], 0]);
});

test("[ours.replicas.woken] a stopping process sends its hints first", async () => {
  const replica = start();
  replica.wake.signal(resolved());
  const closed = replica.wake.close();
  await sent(replica, 1);
  assert.equal(replica.bus.isClosed, false);
  replica.bus.answer();
  await closed;
  assert.equal(replica.bus.isClosed, true);
});
