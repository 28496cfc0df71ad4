/**
 * Behaviour specific to PostgreSQL: locks between connections, retries, its clock, and connections
 * that break.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startCuttingProxy } from "../../../test/support/cutting-proxy.ts";
import { createDatabase, execute, startPostgres } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/until.ts";
import { systemClock, systemRandom } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { Transaction } from "../store.ts";
import { type PostgresOptions, PostgresStore } from "./postgres-store.ts";

async function open(
  t: TestContext,
  url: string,
  options: Partial<PostgresOptions> = {},
): Promise<PostgresStore> {
  const random = systemRandom();
  const defaults = { connectionsMax: 5, acceptsLoss: false, random };
  const store = await PostgresStore.open({ url, ...defaults, ...options });
  t.after(() => store.close());
  return store;
}

const TABLE = "create table item (id text not null primary key, n bigint not null)";

/** A store with the rows `a` and `b`, both 0. */
async function openItems(
  t: TestContext,
  options: Partial<PostgresOptions> = {},
): Promise<{ store: PostgresStore; url: string }> {
  const url = await createDatabase();
  await execute(url, TABLE, "insert into item values ('a', 0), ('b', 0)");
  return { store: await open(t, url, options), url };
}

const lock = (tx: Transaction, mode: "update" | "share", id = "a") =>
  tx.lock(mode, "select n from item where id = $1", [id]);

const add = (tx: Transaction, id: string) =>
  tx.run("update item set n = n + 1 where id = $1", [id]);

async function numbers(store: PostgresStore): Promise<unknown[]> {
  return (await store.all("select n from item order by id")).map(({ n }) => n);
}

/** How many connections wait for a lock in this database. */
async function waitingForLocks(store: PostgresStore): Promise<number> {
  const sql = `select count(*) as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return Number((await store.get(sql))?.n);
}

function isFailure(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof Failure && pattern.test(error.message);
}

test("many share a row, and who wants to change it waits for all of them", async (t) => {
  const { store } = await openItems(t);
  const order: string[] = [];
  const hold = Promise.withResolvers<void>();
  const sharing = [1, 2].map(() =>
    store.transact(async (tx) => {
      await lock(tx, "share");
      order.push("shared");
      await hold.promise;
    }),
  );
  await until(() => order.length === 2, "both hold it");
  const changing = store.transact(async (tx) => {
    await lock(tx, "update");
    order.push("changed");
    await add(tx, "a");
  });
  await until(async () => (await waitingForLocks(store)) === 1, "the third waits");
  hold.resolve();
  await Promise.all([...sharing, changing]);
  assert.deepEqual(order, ["shared", "shared", "changed"]);
});

test("of two that wait for each other one is run again, and both are committed", async (t) => {
  const { store } = await openItems(t);
  const both = Promise.withResolvers<void>();
  let runs = 0;
  let halves = 0;
  const cross = (first: string, second: string) =>
    store.transact(async (tx) => {
      runs++;
      await add(tx, first);
      if (++halves === 2) both.resolve();
      await both.promise;
      await add(tx, second);
    });
  await Promise.all([cross("a", "b"), cross("b", "a")]);
  // One of them, or each because of the other when the server is slow to undo the first.
  assert.ok(runs > 2);
  assert.deepEqual(await numbers(store), [2, 2]);
});

test("a work that swallows what the engine refused is not committed", async (t) => {
  const { store } = await openItems(t);
  const swallowing = store.transact(async (tx) => {
    await add(tx, "a");
    await tx.get("select nothing from nowhere").catch(() => undefined);
    return "well";
  });
  await assert.rejects(swallowing, /rejected a statement \(42P01\)/);
  assert.deepEqual(await numbers(store), [0, 0]);
});

test("errors hold nothing of rows and parameters", async (t) => {
  const { store } = await openItems(t);
  const insert = "insert into item (id, n) values ($1, $2)";
  for (const values of [
    ["a", 1],
    ["s3cret-id", "s3cret-number"],
  ]) {
    const error = await store.transact((tx) => tx.run(insert, values)).catch((error) => error);
    assert.ok(error instanceof Error && !(error instanceof Failure));
    const errorText = JSON.stringify([error, error.message, error.cause, String(error.cause)]);
    assert.doesNotMatch(errorText, /s3cret|\(a\)/);
  }
});

test("the time is the database's, at the moment of asking", async (t) => {
  const { store } = await openItems(t);
  const before = systemClock.now();
  const hold = Promise.withResolvers<number>();
  const held = Promise.withResolvers<void>();
  const holding = store.transact(async (tx) => {
    await lock(tx, "update");
    held.resolve();
    await hold.promise;
    await tx.get("select pg_sleep(0.05)");
    return tx.now();
  });
  await held.promise;
  const waiting = store.transact(async (tx) => {
    await lock(tx, "update");
    return tx.now();
  });
  await until(async () => (await waitingForLocks(store)) === 1, "the second waits");
  hold.resolve(0);
  const [first, second] = await Promise.all([holding, waiting]);
  assert.ok(Number.isInteger(first) && first >= before + 50);
  assert.ok(second >= first, "the transaction that waited for the lock got an earlier time");
  // The same machine, and so the same clock.
  assert.ok(Math.abs(store.clock.now() - systemClock.now()) <= 5);
});

test("a PostgreSQL server that can lose commits needs a setting that accepts it", async (t) => {
  const url = await createDatabase();
  const name = new URL(url).pathname.slice(1);
  await execute(url, `alter database ${name} set synchronous_commit = off`);
  await assert.rejects(open(t, url), isFailure(/synchronous_commit is off/));
  await open(t, url, { acceptsLoss: true });
});

test("a database with another encoding is rejected", async (t) => {
  const url = await createDatabase(undefined, "encoding 'LATIN1'");
  await assert.rejects(open(t, url), isFailure(/encoding must be UTF8, this is LATIN1/));
});

test("a database that is not there is a failure that names no password", async (t) => {
  const url = new URL(await createDatabase());
  url.password = "s3cret";
  const places = [
    url.href.replace(/\/test_.*/, "/nowhere"),
    `postgres://me:s3cret@127.0.0.1:1/${url.pathname}`,
  ];
  for (const place of places) {
    await assert.rejects(open(t, place), (error) => {
      assert.ok(
        error instanceof Failure && error.message.startsWith("the database cannot be used"),
      );
      assert.doesNotMatch(JSON.stringify([error, error.message, error.cause]), /s3cret/);
      return true;
    });
  }
});

test("a caller without a free connection in time fails, and others are not affected", async (t) => {
  const { store } = await openItems(t, { connectionsMax: 2, patienceMs: 2_000 });
  const hold = Promise.withResolvers<void>();
  let holding = 0;
  const works = [1, 2].map(() =>
    store.transact(async (tx) => {
      await add(tx, holding++ === 0 ? "a" : "b");
      await hold.promise;
    }),
  );
  await until(() => holding === 2, "both have a connection");
  await Promise.all([
    assert.rejects(store.get("select 1 as one"), isFailure(/cannot be reached/)),
    assert.rejects(
      store.transact((tx) => add(tx, "a")),
      isFailure(/cannot be reached/),
    ),
  ]);
  hold.resolve();
  await Promise.all(works);
  assert.deepEqual(await numbers(store), [1, 1]);
});

const END_OTHERS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

test("connections that broke while idle cause no failure", async (t) => {
  const { store, url } = await openItems(t);
  await Promise.all(Array.from({ length: 5 }, () => store.transact((tx) => add(tx, "a"))));
  await execute(url, END_OTHERS);
  await store.transact((tx) => add(tx, "a"));
  await execute(url, END_OTHERS);
  assert.deepEqual(await numbers(store), [6, 0]);
});

test("a connection that breaks in the middle of a work is a failure without a trace", async (t) => {
  const { store, url } = await openItems(t);
  const broken = store.transact(async (tx) => {
    await add(tx, "a");
    await execute(url, END_OTHERS);
    await add(tx, "a");
  });
  await assert.rejects(broken, Failure);
  await store.transact((tx) => add(tx, "b"));
  assert.deepEqual(await numbers(store), [0, 1]);
});

test("a connection that breaks during a commit is a failure, committed or not", async (t) => {
  const { url } = await openItems(t);
  const proxy = await startCuttingProxy(t, url);
  const store = await open(t, proxy.url);
  let runs = 0;
  for (const [cut, after] of [
    ["before", 0],
    ["after", 1],
  ] as const) {
    proxy.cut = cut;
    const work = store.transact((tx) => {
      runs++;
      return add(tx, "a");
    });
    await assert.rejects(work, isFailure(/outcome is unknown/));
    assert.deepEqual(await numbers(store), [after, 0]);
  }
  // The store does not retry a work with an unknown outcome.
  assert.equal(runs, 2);
});

test("while the server is down everything is a failure at once, and then it goes on", async (t) => {
  const server = await startPostgres();
  t.after(() => server.stop());
  const url = await createDatabase(server);
  await execute(url, TABLE, "insert into item values ('a', 0), ('b', 0)");
  const store = await open(t, url);
  await store.transact((tx) => add(tx, "a"));
  await server.stop();
  await assert.rejects(store.get("select 1 as one"), Failure);
  await assert.rejects(
    store.transact((tx) => add(tx, "a")),
    Failure,
  );
  await assert.rejects(store.check(), Failure);
  await server.start();
  await store.transact((tx) => add(tx, "a"));
  assert.deepEqual(await numbers(store), [2, 0]);
});

test("closing waits for what is under way and leaves no connection behind", async (t) => {
  const { store, url } = await openItems(t);
  const observer = await open(t, url, { connectionsMax: 2 });
  const hold = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const work = store.transact(async (tx) => {
    await add(tx, "a");
    started.resolve();
    await hold.promise;
  });
  await started.promise;
  const closing = store.close();
  hold.resolve();
  await Promise.all([work, closing]);
  assert.deepEqual(await numbers(observer), [1, 0]);
  const sql = `select count(*) as n from pg_stat_activity
    where datname = current_database() and application_name = 'countersign'`;
  await until(async () => (await observer.get(sql))?.n === 1, "only the observer is connected");
});
