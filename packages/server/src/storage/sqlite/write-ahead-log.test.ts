import assert from "node:assert/strict";
import fs, { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { Failure } from "../../failure.ts";
import type { Durability } from "../store.ts";
import { LOG_BYTES_MAX } from "./open-database.ts";
import { SqliteStore } from "./sqlite-store.ts";

type Done = (error: Error | null) => void;

/** The syncs that were started. The disk completes them when the test requests it. */
class Disk {
  readonly syncs: Done[] = [];
  isHeld = false;

  constructor(t: TestContext) {
    const { fdatasync } = fs;
    t.mock.method(fs, "fdatasync", (descriptor: number, done: Done) => {
      this.syncs.push(done);
      if (!this.isHeld) fdatasync(descriptor, done);
    });
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
  }

  /** Does what was held, and holds nothing any more. */
  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    for (const done of this.syncs) done(null);
  }

  /** Resolves when so many syncs were started. */
  async untilStarted(count: number): Promise<void> {
    while (this.syncs.length < count) await turn();
  }
}

interface Opened {
  readonly store: SqliteStore;
  readonly file: string;
  readonly disk: Disk;
}

async function openStore(t: TestContext): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-log-"));
  const disk = new Disk(t);
  const file = join(directory, "store.db");
  const store = new SqliteStore(file, new ManualClock());
  t.after(async () => {
    disk.release();
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await store.transact((tx) => tx.run("create table item (id text not null primary key)"));
  disk.syncs.length = 0;
  return { store, file, disk };
}

const put = (store: SqliteStore, id: string, durability?: Durability) =>
  store.transact((tx) => tx.run("insert into item (id) values ($1)", [id]), durability);

const ids = async (store: SqliteStore) =>
  (await store.all("select id from item order by id")).map(({ id }) => id);

test("before the log is synced, no commit is answered and no read sees it", async (t) => {
  const { store, disk } = await openStore(t);
  await put(store, "a");
  disk.isHeld = true;
  let answered = false;
  const answer = put(store, "b").then(() => {
    answered = true;
  });
  await disk.untilStarted(2);
  let seen: unknown[] | undefined;
  const reading = ids(store).then((found) => {
    seen = found;
  });
  for (let i = 0; i < 3; i++) await turn();
  assert.deepEqual([answered, seen], [false, undefined]);
  disk.syncs[1]?.(null);
  await Promise.all([answer, reading]);
  assert.deepEqual(seen, ["a", "b"]);
});

test("works that arrive during a sync are committed after it, with one sync", async (t) => {
  const { store, disk } = await openStore(t);
  disk.isHeld = true;
  const first = put(store, "a");
  await disk.untilStarted(1);
  const later = Promise.all(["b", "c", "d"].map((id) => put(store, id)));
  for (let i = 0; i < 3; i++) await turn();
  assert.equal(disk.syncs.length, 1);
  disk.syncs[0]?.(null);
  await first;
  await disk.untilStarted(2);
  disk.syncs[1]?.(null);
  await later;
  assert.equal(disk.syncs.length, 2);
  assert.deepEqual(await ids(store), ["a", "b", "c", "d"]);
});

test("a commit syncs only when a member requires it", async (t) => {
  const { store, disk } = await openStore(t);
  const syncsOf = async (commits: readonly (readonly [string, Durability?])[]) => {
    const before = disk.syncs.length;
    await Promise.all(commits.map(([id, durability]) => put(store, id, durability)));
    return disk.syncs.length - before;
  };
  assert.equal(await syncsOf([["a"]]), 1);
  assert.equal(
    await syncsOf([
      ["b", "process"],
      ["c", "process"],
    ]),
    0,
  );
  assert.equal(
    await syncsOf([
      ["d", "process"],
      ["e", "power"],
    ]),
    1,
  );
  assert.deepEqual(await ids(store), ["a", "b", "c", "d", "e"]);
});

test("a transaction without changes syncs only an earlier unsynced commit", async (t) => {
  const { store, disk } = await openStore(t);
  const lookUp = () =>
    store.transact((tx) => tx.run("delete from item where id = $1", ["unknown"]));
  await put(store, "a");
  assert.equal(disk.syncs.length, 1);
  await lookUp();
  assert.equal(disk.syncs.length, 1);
  await put(store, "b", "process");
  await lookUp();
  assert.equal(disk.syncs.length, 2);
  await Promise.all([lookUp(), put(store, "c")]);
  assert.equal(disk.syncs.length, 3);
});

test("after a sync that failed nothing is written or read until a restart", async (t) => {
  const { store, file, disk } = await openStore(t);
  await put(store, "a");
  disk.isHeld = true;
  const lost = put(store, "b");
  await disk.untilStarted(2);
  const waiting = put(store, "c");
  disk.syncs[1]?.(new Error("EIO: i/o error, fdatasync"));
  const isLost = (error: unknown) => error instanceof Failure && /fsync failed/.test(error.message);
  await assert.rejects(lost, isLost);
  await assert.rejects(waiting, isLost);
  await assert.rejects(put(store, "d"), isLost);
  await assert.rejects(ids(store), isLost);
  await assert.rejects(store.check(), isLost);
  disk.isHeld = false;
  await store.close();
  const reopened = new SqliteStore(file, new ManualClock());
  t.after(() => reopened.close());
  await put(reopened, "e");
  // The outcome of b is unknown.
  assert.deepEqual(
    (await ids(reopened)).filter((id) => id !== "b"),
    ["a", "e"],
  );
});

const MEBIBYTE = 1024 * 1024;
/** In the table and in the index of its key: 2 MiB. */
const large = (name: string) => name.padEnd(MEBIBYTE, "x");

test("a long log is carried over and written anew, also while reads go on", async (t) => {
  const { store, file } = await openStore(t);
  for (let i = 0; i < 50; i++) {
    const reading = store.get("select count(*) as n from item");
    await put(store, large(String(i)));
    await reading;
  }
  assert.ok(statSync(`${file}-wal`).size < 1.5 * LOG_BYTES_MAX);
  assert.ok(statSync(file).size > 80 * MEBIBYTE);
  assert.equal((await store.get("select count(*) as n from item"))?.n, 50);
});

test("a log that another process reads goes on, and is carried over later", async (t) => {
  const { store, file } = await openStore(t);
  const other = new DatabaseSync(file);
  other.exec("begin; select * from item");
  for (let i = 0; i < 25; i++) await put(store, large(`during ${i}`));
  assert.ok(statSync(`${file}-wal`).size > 5 * LOG_BYTES_MAX);
  other.exec("rollback");
  other.close();
  for (let i = 0; i < 10; i++) await put(store, large(`after ${i}`));
  assert.ok(statSync(file).size > 50 * MEBIBYTE);
  assert.ok(statSync(`${file}-wal`).size < 1.5 * LOG_BYTES_MAX);
});

test("a log that cannot be carried over costs no answer, and is tried again", async (t) => {
  const { store, file } = await openStore(t);
  const { prepare } = DatabaseSync.prototype;
  let tries = 0;
  const mocked = t.mock.method(
    DatabaseSync.prototype,
    "prepare",
    function (this: DatabaseSync, sql: string) {
      if (!sql.includes("wal_checkpoint")) return prepare.call(this, sql);
      tries++;
      throw new Error("database or disk is full");
    },
  );
  for (let i = 0; i < 12; i++) await put(store, large(`during ${i}`));
  assert.ok(tries > 0 && tries < 8, `${tries} tries`);
  mocked.mock.restore();
  for (let i = 0; i < 10; i++) await put(store, large(`after ${i}`));
  assert.ok(statSync(file).size > 35 * MEBIBYTE);
  assert.equal((await store.get("select count(*) as n from item"))?.n, 22);
});

test("a server carries over at its start what a killed one has left in the log", async (t) => {
  const { store, file } = await openStore(t);
  await put(store, "left behind");
  const copy = `${file}.killed`;
  for (const part of ["", "-wal"]) copyFileSync(file + part, copy + part);
  assert.equal(readFileSync(copy).includes("left behind"), false);
  const server = new SqliteStore(copy, new ManualClock(), { isExclusive: true });
  t.after(() => server.close());
  assert.equal(readFileSync(copy).includes("left behind"), true);
  assert.deepEqual(await ids(server), ["left behind"]);
});

test("the next read includes the commits of another process, also during a sync", async (t) => {
  const { store, file, disk } = await openStore(t);
  disk.isHeld = true;
  const own = put(store, "own");
  await disk.untilStarted(1);
  const other = new DatabaseSync(file);
  other.exec("insert into item (id) values ('of another process')");
  other.close();
  const reading = ids(store);
  disk.syncs[0]?.(null);
  await own;
  assert.deepEqual(await reading, ["of another process", "own"]);
});
