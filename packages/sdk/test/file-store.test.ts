/**
 * The stores on disk, by several at once and after an end in the middle.
 */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MemoryStore, type ResolvedEvent } from "@countersign/sdk";
import { FileReceiverStore, FileStore } from "@countersign/sdk/file-store";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { manualTiming } from "./support/manual-timing.ts";

const NINE_DAYS_MS = 9 * 24 * 3_600_000;

function age(file: string): void {
  const then = (Date.now() - NINE_DAYS_MS) / 1000;
  utimesSync(file, then, then);
}

test("[ours.sdk.store] concurrent consumers of one id: exactly one gets it, permanently", async (t) => {
  const folder = join(temporaryFolder(t), "deep", "uses");
  const stores = Array.from({ length: 5 }, () => new FileStore(folder));
  const takes = await Promise.all(
    Array.from({ length: 50 }, (_, i) => stores[i % 5]?.consume(`id ${i % 2}`)),
  );
  assert.equal(takes.filter((taken) => taken).length, 2);
  assert.equal(await new FileStore(folder).consume("id 1"), false);
  assert.equal(await new FileStore(folder).consume(`../../${"x".repeat(3_000)}`), true);
  assert.equal(readdirSync(folder).length, 3);
  assert.equal(statSync(folder).mode & 0o077, 0);
});

test("[ours.sdk.store] a record left empty by a crash counts as used", async (t) => {
  const folder = temporaryFolder(t);
  await new FileStore(folder).consume("id");
  const [name = ""] = readdirSync(folder);
  writeFileSync(join(folder, name), "");
  assert.equal(await new FileStore(folder).consume("id"), false);
});

test("[ours.sdk.store] consume rejects for a folder that cannot be created", async (t) => {
  const file = join(temporaryFolder(t), "file");
  writeFileSync(file, "");
  await assert.rejects(new FileStore(join(file, "uses")).consume("id"), { code: "ENOTDIR" });
});

test("[ours.sdk.store] prune deletes records older than eight days, and no others", async (t) => {
  const folder = temporaryFolder(t);
  const store = new FileStore(folder);
  await store.consume("old");
  for (const name of readdirSync(folder)) age(join(folder, name));
  await store.consume("new");
  await store.prune();
  assert.equal(await store.consume("new"), false);
  assert.equal(await store.consume("old"), true);
});

const HOUR_MS = 3_600_000;

test("[ours.sdk.store] a consume deletes old files, once an hour for all processes of a folder", async (t) => {
  const folder = temporaryFolder(t);
  const timing = manualTiming();
  const files = () => readdirSync(folder);
  // Another process has just deleted old files.
  writeFileSync(join(folder, "pruned"), "");
  const store = new FileStore(folder, { timing });
  await store.consume("first");
  const [record = ""] = files().filter((name) => name !== "pruned");
  age(join(folder, record));
  await new FileStore(folder, { timing }).consume("second");
  // A deletion that starts too early is complete after this.
  for (let i = 0; i < 20; i++) await store.has("second");
  assert.ok(files().includes(record));
  timing.pass(HOUR_MS + 60_000);
  assert.equal(await store.consume("third"), true);
  await eventually("the old file is deleted", () => !files().includes(record) || undefined);
  assert.equal(await store.consume("second"), false);
  assert.equal(await store.consume("first"), true);
});

test("[ours.sdk.store] a failed deletion of old files goes to onPruneError and not to the caller", async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "pruned"));
  age(join(folder, "pruned"));
  const failure = Promise.withResolvers<unknown>();
  const store = new FileStore(folder, { onPruneError: failure.resolve });
  assert.equal(await store.consume("id"), true);
  assert.match(String(await failure.promise), /EISDIR/);
  assert.equal(await store.consume("id"), false);
});

test("[ours.sdk.store] a relative folder is rejected, because it depends on the working directory", () => {
  for (const folder of ["approvals", "./approvals", "", undefined]) {
    assert.throws(() => new FileStore(folder as string), {
      code: "invalid_option",
      message: /needs an absolute folder, not .+import.meta.dirname/,
    });
  }
});

test("[ours.sdk.store] a result is kept for its owner alone, once, and pruned with its record", async (t) => {
  const folder = temporaryFolder(t);
  const store = new FileStore(folder);
  assert.equal(await store.has("id"), false);
  assert.equal(await store.loadResult("id"), undefined);
  await store.consume("id");
  await store.saveResult("id", "first");
  await store.saveResult("id", "second");
  assert.equal(await new FileStore(folder).loadResult("id"), "first");
  assert.equal(await new FileStore(folder).has("id"), true);
  for (const name of readdirSync(folder)) {
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    age(join(folder, name));
  }
  await store.prune();
  assert.deepEqual(readdirSync(folder), []);
});

test("[ours.sdk.store] results in memory are bounded: the oldest are dropped", async () => {
  const store = new MemoryStore();
  const text = "x".repeat(1024 * 1024);
  for (let i = 0; i < 17; i++) await store.saveResult(String(i), text);
  assert.equal(await store.loadResult("0"), undefined);
  assert.equal(await store.loadResult("1"), text);
  assert.equal(await store.loadResult("16"), text);
});

const EVENT: ResolvedEvent = {
  id: "0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f",
  instanceId: "0197f3c5-3e7c-7a7e-8d3b-000000000001",
  requestId: "0197f3c5-3e7c-7a7e-8d3b-000000000002",
  createdAt: 1_767_225_600_000,
};

test("[ours.sdk.store] an event is kept whole and once, and known after a restart until long after its end", async (t) => {
  const folder = temporaryFolder(t);
  const store = new FileReceiverStore(folder);
  const kept = await Promise.all([store.keep(EVENT), store.keep(EVENT), store.keep(EVENT)]);
  assert.equal(kept.filter((isNew) => isNew).length, 1);
  // A crash before the event was stored leaves this draft.
  writeFileSync(join(folder, "events", "0197f3c5-0000-7000-8000-000000000000.draft"), '{"id"');
  const next = new FileReceiverStore(folder);
  assert.deepEqual(await next.unfinished(), [EVENT]);
  await next.finish(EVENT.id);
  await next.finish(EVENT.id);
  await next.prune();
  assert.deepEqual(await new FileReceiverStore(folder).unfinished(), []);
  assert.equal(await next.keep(EVENT), false);
  age(join(folder, "finished", EVENT.id));
  await next.prune();
  assert.equal(readdirSync(join(folder, "finished")).length, 0);
  assert.deepEqual(await next.unfinished(), []);
});

test("[ours.sdk.store] a new event deletes events that were finished more than eight days ago", async (t) => {
  const folder = temporaryFolder(t);
  const store = new FileReceiverStore(folder);
  await store.keep(EVENT);
  await store.finish(EVENT.id);
  const finished = join(folder, "finished");
  writeFileSync(join(finished, "pruned"), "");
  for (const name of readdirSync(finished)) age(join(finished, name));
  await new FileReceiverStore(folder).keep({ ...EVENT, id: EVENT.requestId });
  await eventually("the old event is deleted", () => {
    return readdirSync(join(folder, "events")).join() === EVENT.requestId || undefined;
  });
});

test("[ours.sdk.store] registrations are those of their instance, and ids are never paths", async (t) => {
  const store = new FileReceiverStore(temporaryFolder(t));
  await store.bind(EVENT.instanceId, EVENT.id);
  await store.bind(EVENT.instanceId, EVENT.id.toUpperCase());
  assert.deepEqual(await store.registrationsOf(EVENT.instanceId), [EVENT.id]);
  assert.deepEqual(await store.registrationsOf(EVENT.requestId), []);
  await assert.rejects(store.keep({ ...EVENT, id: "../x" }), { code: "invalid_call" });
  await assert.rejects(store.bind("../x", EVENT.id), { code: "invalid_call" });
});
