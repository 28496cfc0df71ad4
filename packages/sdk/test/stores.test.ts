/** The stores in memory, on disk, in SQLite and in PostgreSQL. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { MemoryReceiverStore, MemoryStore, Receiver } from "@countersign/sdk";
import { FileReceiverStore, FileStore } from "@countersign/sdk/file-store";
import { RedisStore } from "@countersign/sdk/redis-store";
import {
  postgres,
  SQL_STORE_SCHEMA,
  type SqlDatabase,
  SqlStore,
  sqlite,
} from "@countersign/sdk/sql-store";
import { type StoreCheck, storeChecks } from "@countersign/sdk/store-conformance";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { Pool } from "pg";
import { createDatabase } from "../../server/test/support/postgres.ts";
import { manualTiming } from "./support/manual-timing.ts";
import { subjectOf, testProcesses, testStore } from "./support/store-tests.ts";

const HOUR_MS = 3_600_000;
const EIGHT_DAYS_MS = 8 * 24 * HOUR_MS;
const NINE_DAYS_S = 9 * 24 * 3_600;

const owner = fileOwner();
const folder = temporaryFolder(owner);
const postgresUrl = createDatabase();

const memory = new MemoryStore();
testStore("memory", { open: () => memory, prune: () => memory.prune() });

const approvals = join(folder, "approvals");
testStore("file", {
  open: () => new FileStore(approvals),
  openUnreachable: () => new FileStore("/dev/null/approvals"),
  prune: () => new FileStore(approvals).prune(),
});
testProcesses("file", async () => join(folder, "processes"));

for (const [kind, address] of [
  ["sqlite", async () => join(folder, "approvals.sqlite")],
  ["postgres", () => postgresUrl],
] as const) {
  const subject = subjectOf(owner, kind, address);
  testStore(kind, {
    ...subject,
    async prune() {
      const store = await subject.open();
      assert.ok(store instanceof SqlStore);
      await store.prune();
    },
  });
  testProcesses(kind, address);
}

/** Every store of SQL with a database of its own, and a function that runs a statement. */
async function eachSql(
  t: TestContext,
  run: (database: SqlDatabase, name: string) => Promise<void>,
): Promise<void> {
  const file = new DatabaseSync(":memory:");
  await run(sqlite(file), "sqlite");
  const pool = new Pool({ connectionString: await createDatabase() });
  t.after(() => pool.end());
  await run(postgres(pool), "postgres");
}

/** For tests that close the database before the deletion of old records starts. */
const NO_LOG = { onPruneError: () => {} };

async function idsIn(database: SqlDatabase): Promise<unknown[]> {
  const { rows } = await database.query("select id from countersign_consumption", []);
  return rows.map((row) => Object(row).id);
}

const MAKE_OLD = `update countersign_consumption
  set consumed_at_s = consumed_at_s - ${NINE_DAYS_S}`;

test("[ours.sdk.store] sql: prune deletes records older than eight days, and no others", async (t) => {
  await eachSql(t, async (database) => {
    const timing = manualTiming();
    const store = new SqlStore(database, { timing });
    // More than one statement deletes.
    for (let i = 0; i < 1_001; i++) await store.consume(`old ${i}`);
    await store.saveResult("old 0", "result");
    await database.query(MAKE_OLD, []);
    await store.consume("new");
    await store.prune();
    assert.deepEqual(await idsIn(database), ["new"]);
    assert.equal(await store.loadResult("old 0"), undefined);
    assert.equal(await store.consume("old 0"), true);
  });
});

test("[ours.sdk.store] sql: the first consume of a process deletes old records", async (t) => {
  await eachSql(t, async (database, name) => {
    await new SqlStore(database, NO_LOG).consume("old");
    await database.query(MAKE_OLD, []);
    assert.equal(await new SqlStore(database, NO_LOG).consume("new"), true);
    await eventually(`${name} has only the new record`, async () => {
      return (await idsIn(database)).join() === "new" || undefined;
    });
  });
});

/** The database, until a statement starts with these words. */
function failingAt(database: SqlDatabase, words: string): SqlDatabase {
  return {
    dialect: database.dialect,
    async query(text, params) {
      if (text.startsWith(words)) throw new Error(`failed: ${words}`);
      return database.query(text, params);
    },
  };
}

test("[ours.sdk.store] sql: a failed deletion goes to onPruneError and not to the caller", async (t) => {
  await eachSql(t, async (database) => {
    const failure = Promise.withResolvers<unknown>();
    const store = new SqlStore(failingAt(database, "delete"), { onPruneError: failure.resolve });
    assert.equal(await store.consume("id"), true);
    assert.match(String(await failure.promise), /failed: delete/);
    assert.equal(await store.consume("id"), false);
  });
});

test("[ours.sdk.store] sql: a lost result of a successful insert rejects, and the id is consumed", async (t) => {
  await eachSql(t, async (database) => {
    const store = new SqlStore({
      dialect: database.dialect,
      async query(text, params) {
        const result = await database.query(text, params);
        if (text.startsWith("insert")) throw new Error("connection lost");
        return result;
      },
    });
    await assert.rejects(store.consume("lost"), /connection lost/);
    assert.equal(await new SqlStore(database, NO_LOG).consume("lost"), false);
  });
});

test("[ours.sdk.store] sql: createTable: false uses the operator's table and creates none", async (t) => {
  await eachSql(t, async (database) => {
    const options = { createTable: false, ...NO_LOG };
    const store = new SqlStore(failingAt(database, "create"), options);
    await assert.rejects(store.consume("id"), /countersign_consumption/);
    for (const statement of SQL_STORE_SCHEMA) await database.query(statement, []);
    assert.equal(await store.consume("id"), true);
  });
});

test("[ours.sdk.store] sql: a user without permission to create uses an existing table", async (t) => {
  await eachSql(t, async (database) => {
    const denied = failingAt(database, "create");
    const store = new SqlStore(denied, NO_LOG);
    await assert.rejects(store.consume("id"), /failed: create/);
    await new SqlStore(database, NO_LOG).consume("other");
    assert.equal(await store.consume("id"), true);
  });
});

test("[ours.sdk.store] sql: concurrent first uses create one table", async (t) => {
  const url = await createDatabase();
  const pools = Array.from({ length: 8 }, () => new Pool({ connectionString: url }));
  t.after(async () => {
    for (const pool of pools) await pool.end();
  });
  const stores = pools.map((pool) => new SqlStore(postgres(pool), NO_LOG));
  const consumed = await Promise.all(stores.map((store) => store.consume("id")));
  assert.equal(consumed.filter((isFirst) => isFirst).length, 1);
});

test("[ours.sdk.store] sql: a driver that separates all and run works", async () => {
  const database = new DatabaseSync(":memory:");
  // The behaviour of better-sqlite3.
  const store = new SqlStore(
    sqlite({
      prepare(text) {
        const statement = database.prepare(text);
        const reader = statement.columns().length > 0;
        const all = (...params: string[]) => {
          assert.ok(reader, "This statement does not return data. Use run() instead");
          return statement.all(...params);
        };
        return { reader, all, run: (...params) => statement.run(...params) };
      },
    }),
  );
  assert.equal(await store.consume("id"), true);
  await store.saveResult("id", "result");
  assert.equal(await store.loadResult("id"), "result");
});

test("[ours.sdk.store] sql: a database without query or dialect returns invalid_option", () => {
  const query = async () => ({ rows: [] });
  for (const database of [undefined, {}, { query }, { query, dialect: "mysql" }]) {
    assert.throws(() => new SqlStore(database as SqlDatabase), { code: "invalid_option" });
  }
});

test("[ours.sdk.store] memory: a consume deletes records older than eight days", async () => {
  const timing = manualTiming();
  const store = new MemoryStore({ timing });
  await store.consume("old");
  await store.saveResult("old", "result");
  timing.pass(EIGHT_DAYS_MS - HOUR_MS);
  await store.consume("new");
  timing.pass(HOUR_MS);
  await store.consume("third");
  await eventually("the old record is deleted", async () => !(await store.has("old")) || undefined);
  assert.equal(await store.loadResult("old"), undefined);
  assert.equal(await store.has("new"), true);
  assert.equal(await store.has("third"), true);
});

/** A store that breaks one rule at a time. */
function brokenStore(changes: Partial<MemoryStore>): StoreChecksOf {
  const store = new MemoryStore();
  const broken = {
    consume: (id: string) => store.consume(id),
    has: (id: string) => store.has(id),
    saveResult: (id: string, text: string) => store.saveResult(id, text),
    loadResult: (id: string) => store.loadResult(id),
    ...changes,
  };
  return storeChecks({ open: () => broken, openUnreachable: () => broken });
}

type StoreChecksOf = readonly StoreCheck[];

async function failuresOf(checks: StoreChecksOf): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of checks) {
    await run().catch(() => failed.push(name));
  }
  return failed;
}

const UNREACHABLE = "a store that cannot reach its records rejects";

test("[ours.sdk.store] conformance: each violation fails the check of its rule", async () => {
  const ids = new Map<string, string>();
  const texts = new Map<string, string>();
  const taken = (id: string) => {
    const isFirst = !ids.has(id);
    ids.set(id, id);
    return isFirst;
  };
  const cases: [Partial<MemoryStore>, RegExp][] = [
    [{ consume: async () => true }, /every later one false/],
    [{ consume: async () => false }, /every later one false/],
    [
      {
        // Reads before it writes.
        consume: async (id) => {
          const isFirst = !ids.has(id);
          await Promise.resolve();
          ids.set(id, id);
          return isFirst;
        },
      },
      /exactly one consumes the id/,
    ],
    [{ consume: async (id) => taken(id.slice(0, 2_700)) }, /ids of 3,000 characters/],
    [{ consume: async (id) => taken(id.toLowerCase()) }, /differ in case/],
    [{ consume: async (id) => taken(id.trim()) }, /differ in case/],
    [{ has: async () => false }, /has returns true/],
    [
      {
        saveResult: async (id, text) => void texts.set(id, text),
        loadResult: async (id) => texts.get(id),
      },
      /saves the first result/,
    ],
    [{ loadResult: async () => undefined }, /saves the first result/],
  ];
  for (const [changes, expected] of cases) {
    const failed = await failuresOf(brokenStore(changes));
    assert.ok(
      failed.some((name) => expected.test(name)),
      `${expected}: ${failed.join()}`,
    );
  }
  assert.deepEqual(await failuresOf(brokenStore({})), [UNREACHABLE]);
});

test("[ours.sdk.options] a store or receiver with an unknown option is rejected with its name", (t) => {
  const options = { onPruneErrors: () => {} } as object;
  const database = sqlite(new DatabaseSync(":memory:"));
  const receiving = {
    store: new MemoryReceiverStore(),
    registrations: {},
    onResolved: () => {},
    ...options,
  };
  const constructors: readonly (() => unknown)[] = [
    () => new MemoryStore(options),
    () => new FileStore(temporaryFolder(t), options),
    () => new FileReceiverStore(temporaryFolder(t), options),
    () => new SqlStore(database, options),
    () => new RedisStore({ command: async () => null }, options),
    () => new Receiver(receiving),
  ];
  for (const construct of constructors) {
    const message = /Unknown option of new \w+\(\): "onPruneErrors"/;
    assert.throws(construct, { code: "invalid_option", message });
  }
});
