/**
 * One message to PostgreSQL has the same effect as several: statements that are not awaited,
 * lookups that are sent together, and statements that stay prepared.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { startCuttingProxy } from "../../../test/support/cutting-proxy.ts";
import { createDatabase, execute } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/until.ts";
import { systemRandom } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { Transaction } from "../store.ts";
import { PostgresStore } from "./postgres-store.ts";

async function open(t: TestContext, url: string, connectionsMax = 5): Promise<PostgresStore> {
  const options = { url, connectionsMax, acceptsLoss: false, random: systemRandom() };
  const store = await PostgresStore.open(options);
  t.after(() => store.close());
  return store;
}

const TABLES = [
  "create table item (id text not null primary key, n bigint not null)",
  "create table part (id text not null primary key, item_id text not null references item (id))",
  "insert into item values ('a', 0), ('b', 0)",
];

async function openItems(t: TestContext): Promise<{ store: PostgresStore; url: string }> {
  const url = await createDatabase();
  await execute(url, ...TABLES);
  return { store: await open(t, url), url };
}

const add = (tx: Transaction, id: string) =>
  tx.run("update item set n = n + 1 where id = $1", [id]);

const insertItem = (tx: Transaction, id: string) =>
  tx.insert("insert into item (id, n) values ($1, $2)", [id, 0]);

const insertPart = (tx: Transaction, id: string, item: string) =>
  tx.insert("insert into part (id, item_id) values ($1, $2)", [id, item]);

async function items(store: PostgresStore): Promise<string> {
  const rows = await store.all("select id, n from item order by id");
  return rows.map(({ id, n }) => `${id}${n}`).join(" ");
}

test("an insert that the engine rejects rolls back its transaction, at any position", async (t) => {
  const { store } = await openItems(t);
  const works: ((tx: Transaction) => Promise<unknown>)[] = [
    async (tx) => {
      await add(tx, "b");
      return insertItem(tx, "a");
    },
    async (tx) => {
      await insertItem(tx, "c");
      await insertItem(tx, "a");
      return add(tx, "b");
    },
    async (tx) => {
      await add(tx, "b");
      await insertItem(tx, "a").catch(() => undefined);
      await add(tx, "b").catch(() => undefined);
    },
  ];
  for (const work of works) {
    await assert.rejects(store.transact(work), /rejected a statement \(23505\)/);
    assert.equal(await items(store), "a0 b0");
  }
  // And its connection is of use for the next.
  await Promise.all(Array.from({ length: 10 }, () => store.transact((tx) => add(tx, "a"))));
  assert.equal(await items(store), "a10 b0");
});

test("a work that inserts very many rows fails with the refused one", async (t) => {
  const { store } = await openItems(t);
  let inserted = 0;
  const insertMany = (refused?: number) =>
    store.transact(async (tx) => {
      for (inserted = 0; inserted < 1_000; inserted++) {
        await insertItem(tx, inserted === refused ? "a" : `many ${inserted}`);
      }
    });
  await assert.rejects(insertMany(100), /rejected a statement \(23505\)/);
  assert.ok(inserted < 200, "statements after the rejected one are not sent");
  assert.equal(await items(store), "a0 b0");
  await insertMany();
  assert.equal((await store.all("select id from item")).length, 1_002);
});

test("an insert of two rows inserts both or none", async (t) => {
  const { store } = await openItems(t);
  const insertTwo = (ids: readonly string[]) =>
    store.transact(async (tx) => {
      await add(tx, "a");
      await tx.insert("insert into item (id, n) values ($1, 0), ($2, 0)", ids);
    });
  await insertTwo(["c", "d"]);
  await assert.rejects(insertTwo(["e", "b"]), /rejected a statement \(23505\)/);
  assert.equal(await items(store), "a1 b0 c0 d0");
});

test("an error of a work rolls back an insert that it did not await", async (t) => {
  const { store } = await openItems(t);
  // One that would have been refused is among them.
  for (const id of ["c", "a"]) {
    const failing = store.transact(async (tx) => {
      await add(tx, "a");
      await insertItem(tx, id);
      throw new RangeError("no");
    });
    await assert.rejects(failing, /^RangeError: no$/);
    await store.transact((tx) => add(tx, "b"));
  }
  assert.equal(await items(store), "a0 b2");
});

test("an insert that fails while its commit is in progress is not committed", async (t) => {
  const { store } = await openItems(t);
  const isThere = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<void>();
  const first = store.transact(async (tx) => {
    await insertItem(tx, "c");
    await add(tx, "c");
    isThere.resolve();
    await hold.promise;
  });
  await isThere.promise;
  const second = store.transact(async (tx) => {
    await add(tx, "b");
    await insertItem(tx, "c");
    // By now it is on its way, where it waits for the first one; its commit comes behind it.
    await nextTurn();
  });
  const refused = assert.rejects(second, /rejected a statement \(23505\)/);
  const waiting = `select count(*) as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await store.get(waiting))?.n === 1, "the second waits");
  hold.resolve();
  await Promise.all([first, refused]);
  assert.equal(await items(store), "a0 b0 c1");
});

test("a deadlock between unawaited inserts is retried", async (t) => {
  const { store } = await openItems(t);
  const both = Promise.withResolvers<void>();
  let runs = 0;
  let halves = 0;
  const cross = (held: string, wanted: string) =>
    store.transact(async (tx) => {
      runs++;
      await tx.lock("update", "select n from item where id = $1", [held]);
      if (++halves === 2) both.resolve();
      await both.promise;
      // Waits for the lock of the other one, to refer to its row.
      await insertPart(tx, held, wanted);
    });
  await Promise.all([cross("a", "b"), cross("b", "a")]);
  // One of them, or each because of the other when the server is slow to undo the first.
  assert.ok(runs > 2);
  assert.equal((await store.all("select id from part")).length, 2);
});

test("a connection that breaks under an insert and its commit leaves it open", async (t) => {
  const { url } = await openItems(t);
  const proxy = await startCuttingProxy(t, url);
  const store = await open(t, proxy.url);
  let runs = 0;
  for (const [cut, after] of [
    ["before", "a0 b0"],
    ["after", "a0 b0 c0"],
  ] as const) {
    proxy.cut = cut;
    const work = store.transact(async (tx) => {
      runs++;
      await tx.lock("update", "select n from item where id = $1", ["a"]);
      await insertItem(tx, "c");
    });
    await assert.rejects(work, (error) => {
      return error instanceof Failure && /outcome is unknown/.test(error.message);
    });
    assert.equal(await items(store), after);
  }
  // The store does not retry a work with an unknown outcome.
  assert.equal(runs, 2);
});

test("lookups of one turn get their own answers, and one that fails harms no other", async (t) => {
  const { store } = await openItems(t);
  await store.transact((tx) => add(tx, "b"));
  const lookup = (id: string) => store.get("select n from item where id = $1", [id]);
  const answers = await Promise.allSettled([
    lookup("b"),
    store.get("select id from item where n = $1", ["no number"]),
    lookup("a"),
    lookup("nowhere"),
  ]);
  const values = answers.map((one) =>
    one.status === "fulfilled" ? one.value : String(one.reason),
  );
  assert.deepEqual(values, [
    { n: 1 },
    "Error: the database rejected a statement (22P02)",
    { n: 0 },
    undefined,
  ]);
});

const LOOKUPS = 7;

test("lookups of one row and of several rows from one turn share a message", async (t) => {
  const { store } = await openItems(t);
  const sql = "select id, pg_backend_pid() as connection from item where id in ($1, $2)";
  const found = await Promise.all([
    store.getMany(sql, ["a", "b"]),
    store.get(sql, ["a", "c"]).then((row) => [row]),
    store.getMany(sql, ["b", "c"]),
  ]);
  assert.deepEqual(
    found.map((rows) => rows.map((row) => row?.id)),
    [["a", "b"], ["a"], ["b"]],
  );
  assert.equal(new Set(found.flat().map((row) => row?.connection)).size, 1);
});

test("the name of a prepared statement has one text on every connection", async (t) => {
  const { url } = await openItems(t);
  const texts = ["select id from item where n = $1", "select n from item where id = $1"];
  const named = async (order: readonly string[]) => {
    const store = await open(t, url, 1);
    for (const text of order) await store.all(text, [0]);
    const sql = "select name, statement from pg_prepared_statements order by name";
    const rows = await store.all(sql);
    return new Map(rows.map(({ name, statement }) => [name, statement]));
  };
  const one = await named(texts);
  const other = await named(texts.toReversed());
  assert.ok(texts.every((text) => [...one.values()].includes(text)));
  for (const [name, statement] of one) assert.equal(other.get(name) ?? statement, statement);
});

test("a connection that lost its prepared statements is not used again", async (t) => {
  const { url } = await openItems(t);
  const store = await open(t, url, 1);
  const lost = async (tx: Transaction) => {
    await add(tx, "a");
    await tx.run("deallocate all");
  };
  // Neither its commit nor its rollback is known to the database any more.
  const thrown = async (tx: Transaction) => lost(tx).then(() => assert.fail("thrown"));
  await assert.rejects(store.transact(thrown));
  await store.transact((tx) => add(tx, "b"));
  assert.equal(await items(store), "a0 b1");
  let isFirst = true;
  await store.transact(async (tx) => {
    if (!isFirst) return void (await add(tx, "b"));
    isFirst = false;
    await lost(tx);
  });
  assert.equal(await items(store), "a0 b2");
});

test("a plan that was made for an empty table is not kept for a full one", async (t) => {
  const url = await createDatabase();
  // As wide as a request: of an empty one, PostgreSQL then takes either index for as good.
  const others = Array.from({ length: 14 }, (_, i) => `c${i} text`).join(", ");
  const table = `create table thing (id text not null primary key, owner text not null, ${others})`;
  await execute(url, table, "create index thing_owner on thing (owner)");
  // One connection, which has prepared the statement while there was nothing.
  const store = await open(t, url, 1);
  // Several in a turn, so that one message has several of the same.
  const readAll = async (turns: number) => {
    const sql = "select id, c0 from thing where id = $1 and owner = $2";
    for (let turn = 0; turn < turns; turn++) {
      const ids = Array.from({ length: LOOKUPS }, (_, i) => String(turn * LOOKUPS + i));
      await Promise.all(ids.map((id) => store.get(sql, [id, "one"])));
    }
  };
  await readAll(3);
  await execute(
    url,
    "insert into thing (id, owner) select i, 'one' from generate_series(1, 20000) as i",
  );
  await readAll(10);
  const before = await fetched(store);
  await readAll(3);
  assert.ok((await fetched(store)) - before <= 3 * LOOKUPS, "each lookup reads one row at most");
});

/** How many rows were fetched by way of an index of the table, as far as this connection knows. */
async function fetched(store: PostgresStore): Promise<number> {
  await store.get("select cast(pg_stat_force_next_flush() as text) as flushed");
  const sql = "select idx_tup_fetch as n from pg_stat_user_tables where relname = 'thing'";
  await store.get(sql);
  return Number((await store.get(sql))?.n);
}
