import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { backupDatabase } from "./backup.ts";
import { openDatabase } from "./open-database.ts";

/** 8 MiB, which a backup copies in several steps. */
const ROWS = 4_096;

test("a backup has the state of its start, while another connection writes", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-backup-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, target] = [join(folder, "source.db"), join(folder, "copy.db")];
  const source = openDatabase(file);
  source.exec("create table item (id integer primary key, n integer not null, filler text)");
  const insert = source.prepare("insert into item (id, n, filler) values (?, 0, ?)");
  source.exec("begin");
  for (let id = 1; id <= ROWS; id++) insert.run(id, "x".repeat(2_000));
  source.exec("commit");
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
  const folder = mkdtempSync(join(tmpdir(), "countersign-backup-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, target] = [join(folder, "source.db"), join(folder, "copy.db")];
  openDatabase(file).close();
  rmSync(file);
  await assert.rejects(
    backupDatabase(join(folder, "missing", "source.db"), target),
    /backup failed/,
  );
  assert.equal(existsSync(target), false);
  assert.deepEqual(readdirSync(folder), []);
});
