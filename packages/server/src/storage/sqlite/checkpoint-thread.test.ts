import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { CheckpointThread } from "./checkpoint-thread.ts";

function open(t: TestContext, file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  t.after(() => database.close());
  database.exec("pragma journal_mode = wal; pragma wal_autocheckpoint = 0");
  return database;
}

function start(t: TestContext, file: string): CheckpointThread {
  const thread = new CheckpointThread(file);
  t.after(() => thread.close());
  return thread;
}

test("a checkpoint copies what is in the log into the database", async (t) => {
  const file = join(temporaryFolder(t), "store.db");
  const database = open(t, file);
  database.exec("create table item (id text); insert into item values ('first')");
  const thread = start(t, file);
  assert.equal(await thread.run(), true);
  assert.ok(readFileSync(file).includes("first"));
  database.exec("insert into item values ('second')");
  assert.equal(await thread.run(), true);
  assert.ok(readFileSync(file).includes("second"));
});

test("a reader of an older state makes a checkpoint incomplete", async (t) => {
  const file = join(temporaryFolder(t), "store.db");
  const database = open(t, file);
  database.exec("create table item (id text)");
  const reader = open(t, file);
  reader.exec("begin; select * from item");
  database.exec("insert into item values ('later')");
  const thread = start(t, file);
  assert.equal(await thread.run(), false);
  reader.exec("rollback");
  assert.equal(await thread.run(), true);
});

test("after a thread that cannot start, the next checkpoint starts another one", async (t) => {
  const folder = join(temporaryFolder(t), "later");
  const file = join(folder, "store.db");
  const thread = start(t, file);
  assert.equal(await thread.run(), false);
  mkdirSync(folder);
  open(t, file).exec("create table item (id text)");
  assert.equal(await thread.run(), true);
});
