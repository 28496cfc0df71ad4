import assert from "node:assert/strict";
import fs, { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { backupDatabase } from "./backup.ts";
import { openDatabase } from "./open-database.ts";

/** 8 MiB, which a backup copies in several steps. */
const ROWS = 4_096;

test("a backup has the state of its start, while another connection writes", async (t) => {
  const folder = newFolder(t);
  const [file, target] = [join(folder, "source.db"), join(folder, "copy.db")];
  const source = fill(openDatabase(file));
  const write = source.prepare(`update item set n = n + 1 where id in (1, ${ROWS})`);
  write.run();

  let isDone = false;
  let writes = 0;
  const copying = backupDatabase(file, target).finally(() => {
    isDone = true;
  });
  // Without one snapshot for all steps, SQLite starts the copy anew after each write.
  while (!isDone && writes < 5_000) {
    write.run();
    source.exec("pragma wal_checkpoint(passive)");
    writes++;
    await turn();
  }
  await copying;
  assert.ok(writes > 1);
  source.close();

  const copy = new DatabaseSync(target, { readOnly: true });
  t.after(() => copy.close());
  const rows = copy.prepare("select id, n from item where n > 0 order by id").all();
  assert.deepEqual(
    rows.map(({ id, n }) => [id, n]),
    [
      [1, 1],
      [ROWS, 1],
    ],
  );
  assert.equal(copy.prepare("select count(*) as n from item").get()?.n, ROWS);
  assert.equal(copy.prepare("pragma journal_mode").get()?.journal_mode, "delete");
  const others = readdirSync(folder).filter((name) => name.startsWith("copy.db"));
  assert.deepEqual(others, ["copy.db"]);
});

test("a failed backup leaves no file", async (t) => {
  const folder = newFolder(t);
  const target = join(folder, "copy.db");
  const missing = join(folder, "missing", "source.db");
  await assert.rejects(backupDatabase(missing, target), /backup failed/);
  assert.deepEqual(readdirSync(folder), []);
});

test("a damaged copy gets no name", async (t) => {
  const folder = newFolder(t);
  const file = join(folder, "source.db");
  fill(openDatabase(file)).close();
  const descriptor = openSync(file, "r+");
  // The second half of the database, beyond its schema.
  writeSync(descriptor, Buffer.alloc(4_096, 0xff), 0, 4_096, 1_024 * 4_096);
  closeSync(descriptor);
  await assert.rejects(backupDatabase(file, join(folder, "copy.db")), /the copy is damaged/);
  assert.deepEqual(readdirSync(folder), ["source.db"]);
});

test("a copy is synced in steps, and removed when its name cannot be synced", async (t) => {
  const folder = newFolder(t);
  const file = join(folder, "source.db");
  fill(openDatabase(file)).close();
  const syncs = replace(t, "fdatasyncSync");
  await backupDatabase(file, join(folder, "copy.db"));
  assert.ok(syncs.callCount() >= 4, `synced ${syncs.callCount()} times`);

  replace(t, "fsyncSync", () => {
    throw new Error("no space left");
  });
  await assert.rejects(
    backupDatabase(file, join(folder, "second.db")),
    /backup failed: no space left/,
  );
  assert.deepEqual(readdirSync(folder).toSorted(), ["copy.db", "source.db"]);
});

test("a file system that cannot sync folders still takes a backup", async (t) => {
  const folder = newFolder(t);
  const file = join(folder, "source.db");
  openDatabase(file).close();
  replace(t, "fsyncSync", () => {
    throw Object.assign(new Error("invalid argument"), { code: "EINVAL" });
  });
  await backupDatabase(file, join(folder, "copy.db"));
  assert.deepEqual(readdirSync(folder).toSorted(), ["copy.db", "source.db"]);
});

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-backup-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Adds a table of 8 MiB. */
function fill(database: DatabaseSync): DatabaseSync {
  database.exec("create table item (id integer primary key, n integer not null, filler text)");
  const insert = database.prepare("insert into item (id, n, filler) values (?, 0, ?)");
  database.exec("begin");
  for (let id = 1; id <= ROWS; id++) insert.run(id, "x".repeat(2_000));
  database.exec("commit");
  return database;
}

/** Counts the calls of a function of node:fs. */
function replace(t: TestContext, name: "fsyncSync" | "fdatasyncSync", instead = fs[name]) {
  const replaced = t.mock.method(fs, name, instead);
  syncBuiltinESMExports();
  t.after(() => {
    replaced.mock.restore();
    syncBuiltinESMExports();
  });
  return replaced.mock;
}
