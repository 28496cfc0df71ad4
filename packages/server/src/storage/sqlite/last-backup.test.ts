import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readLastBackup, recordBackup } from "./last-backup.ts";

test("[ours.operations.backup] the time of the last backup is undefined without a backup, and when its file cannot be read", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-backup-"));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.equal(readLastBackup(folder), undefined);
  recordBackup(folder);
  assert.equal(typeof readLastBackup(folder), "number");
  const file = join(folder, "file");
  writeFileSync(file, "");
  // ENOTDIR, as any other error than a missing file.
  assert.equal(readLastBackup(file), undefined);
  assert.throws(() => recordBackup(file), /its time cannot be recorded/);
});
