import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LOG_BYTES_MAX, openDatabase } from "./open-database.ts";

test("a command that writes much copies the write-ahead log at its maximum length", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-open-"));
  const file = join(folder, "store.db");
  const database = openDatabase(file);
  t.after(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  database.exec("create table item (id integer primary key, filler text)");
  const insert = database.prepare("insert into item (filler) values (?)");
  const size = 64 * 1024;
  let longest = 0;
  for (let written = 0; written < 3 * LOG_BYTES_MAX; written += size) {
    insert.run("x".repeat(size));
    longest = Math.max(longest, statSync(`${file}-wal`).size);
  }
  // The commit that exceeds the maximum is part of the log.
  const isAtMaximum = longest >= LOG_BYTES_MAX && longest < LOG_BYTES_MAX + 4 * size;
  assert.ok(isAtMaximum, `${longest} bytes`);
});
