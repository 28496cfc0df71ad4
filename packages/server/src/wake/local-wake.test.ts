import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalWake } from "./local-wake.ts";
import type { Signal } from "./wake.ts";

const PROJECT = "project";

const resolved = (requestId: string): Signal => ({
  kind: "resolved",
  projectId: PROJECT,
  notifies: undefined,
  status: "approved",
  by: "reviewer",
  requestId,
});

test("[ours.poll.woken] all waiters of a resolved request are called, and no others", () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  wake.onResolved("a", PROJECT, () => calls.push("first"));
  wake.onResolved("a", PROJECT, () => calls.push("second"));
  wake.onResolved("b", PROJECT, () => calls.push("other"));
  assert.equal(wake.waiting, 3);
  wake.signal(resolved("a"));
  assert.deepEqual(calls, ["first", "second"]);
  wake.signal(resolved("no waiter"));
  assert.deepEqual(calls, ["first", "second"]);
});

test("[ours.poll.woken] an opened request wakes no waiters", () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  wake.onResolved("a", PROJECT, () => calls.push("woken"));
  wake.signal({ kind: "opened", projectId: PROJECT, requestId: "a", deadlineAt: 1 });
  assert.deepEqual(calls, []);
});

test("[ours.poll.gone-client] a subscription that has ended is not called and not counted, once", () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  const end = wake.onResolved("a", PROJECT, () => calls.push("gone"));
  wake.onResolved("a", PROJECT, () => calls.push("there"));
  end();
  end();
  assert.equal(wake.waiting, 1);
  wake.signal(resolved("a"));
  assert.deepEqual(calls, ["there"]);
});

test("[ours.poll.woken] a waiter that unsubscribes during its call does not prevent the calls of others", () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  const ends: (() => void)[] = [];
  for (const name of ["first", "second", "third"]) {
    const end = wake.onResolved("a", PROJECT, () => {
      calls.push(name);
      end();
    });
    ends.push(end);
  }
  wake.signal(resolved("a"));
  assert.deepEqual(calls, ["first", "second", "third"]);
  assert.equal(wake.waiting, 0);
  wake.onResolved("a", PROJECT, () => calls.push("again"));
  wake.signal(resolved("a"));
  assert.deepEqual(calls, ["first", "second", "third", "again"]);
});

test("[ours.poll.woken] a resolution by another replica calls its waiters and emits no signal", () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  wake.onSignal(() => calls.push("signal"));
  const end = wake.onResolved("a", PROJECT, () => calls.push("first"));
  wake.onResolved("a", PROJECT, () => calls.push("second"));
  wake.onResolved("b", PROJECT, () => calls.push("other"));
  assert.deepEqual(wake.awaited(), ["a", "b"]);
  assert.deepEqual(
    ["a", "c"].map((id) => wake.projectOf(id)),
    [PROJECT, undefined],
  );
  wake.resolvedElsewhere("a");
  assert.deepEqual(calls, ["first", "second"]);
  end();
  assert.deepEqual(wake.awaited(), ["a", "b"]);
});

test("listeners receive every signal until they unsubscribe", () => {
  const wake = new LocalWake();
  const received: Signal[] = [];
  const leave = wake.onSignal((signal) => received.push(signal));
  const opened: Signal = { kind: "opened", projectId: PROJECT, requestId: "a", deadlineAt: 5 };
  wake.signal(opened);
  wake.signal(resolved("a"));
  leave();
  wake.signal(resolved("b"));
  assert.deepEqual(received, [opened, resolved("a")]);
});

test("[ours.poll.shutdown] a release calls all waiters, and later ones at once", async () => {
  const wake = new LocalWake();
  const calls: string[] = [];
  for (const id of ["a", "b"]) {
    const end = wake.onResolved(id, PROJECT, () => {
      calls.push(id);
      end();
    });
  }
  wake.releaseAll();
  assert.deepEqual(calls, ["a", "b"]);
  const late = Promise.withResolvers<void>();
  wake.onResolved("c", PROJECT, late.resolve);
  await late.promise;
  assert.equal(wake.waiting, 0);
});
