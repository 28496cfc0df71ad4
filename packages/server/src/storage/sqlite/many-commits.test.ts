import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { SqliteStore } from "./sqlite-store.ts";

const COMMITS = 50;

test("consecutive commits leave one event loop iteration after each commit", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-store-"));
  const store = new SqliteStore(join(directory, "store.db"), new ManualClock());
  t.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await store.transact((tx) => tx.run("create table item (n bigint)"));
  let turns = 0;
  const count = () => {
    turns++;
    if (turns < COMMITS * 10) setImmediate(count);
  };
  setImmediate(count);
  const before = turns;
  for (let n = 0; n < COMMITS; n++) {
    await store.transact((tx) => tx.run("insert into item (n) values ($1)", [n]));
  }
  assert.ok(turns - before >= COMMITS - 1, `${turns - before} turns`);
});
