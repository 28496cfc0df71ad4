import assert from "node:assert/strict";
import { test } from "node:test";
import { archiveFolderOf, readArchiveName, writeArchiveName } from "./archive-name.ts";

test("the name of an archive file has its positions, and sorts by them", () => {
  const ranges = [
    { from: 0, to: 9 },
    { from: 9, to: 65_536 },
    { from: 65_536, to: 10_000_000 },
  ];
  const names = ranges.map(writeArchiveName);
  assert.equal(names[0], "000000000000-000000000009.jsonl.gz");
  assert.deepEqual(names.map(readArchiveName), ranges);
  assert.deepEqual([...names].sort(), names);
});

test("an incomplete file, an empty range and another file are not archive files", () => {
  const name = writeArchiveName({ from: 3, to: 9 });
  for (const other of [`${name}.partial`, writeArchiveName({ from: 9, to: 9 }), "log.key", ""]) {
    assert.equal(readArchiveName(other), undefined, other);
  }
});

test("the folder of a log is one path segment", () => {
  assert.equal(archiveFolderOf("countersign/audit/server/aa01"), "server-aa01");
  assert.equal(archiveFolderOf("countersign/audit/../aa01"), undefined);
  assert.equal(archiveFolderOf("countersign/audit/a/b/c"), undefined);
});
