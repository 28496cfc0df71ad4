/**
 * Work that allows it shares a transaction with other work, with the same result as alone.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startCuttingProxy } from "../../../test/support/cutting-proxy.ts";
import { createDatabase, execute } from "../../../test/support/postgres.ts";
import { systemRandom } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { Transaction } from "../store.ts";
import { GROUP_MAX } from "./grouped-works.ts";
import { PostgresStore } from "./postgres-store.ts";

async function open(t: TestContext, url: string): Promise<PostgresStore> {
  const random = systemRandom();
  const store = await PostgresStore.open({ url, connectionsMax: 5, acceptsLoss: false, random });
  t.after(() => store.close());
  return store;
}

/** A store with rows whose ids are these, all 0. */
async function openItems(t: TestContext, ids: readonly string[]) {
  const url = await createDatabase();
  const rows = ids.map((id) => `('${id}', 0)`).join(", ");
  await execute(
    url,
    "create table item (id text not null primary key, n bigint not null)",
    `insert into item values ${rows}`,
  );
  return { store: await open(t, url), url };
}

const TRANSACTION = "select pg_current_xact_id() as id";

const lock = (tx: Transaction, id: string) =>
  tx.lock("update", "select n from item where id = $1", [id]);

const add = (tx: Transaction, id: string) =>
  tx.run("update item set n = n + 1 where id = $1", [id]);

/** @returns the transaction in which it was done */
async function addLocked(tx: Transaction, id: string): Promise<unknown> {
  await lock(tx, id);
  await add(tx, id);
  return (await tx.get(TRANSACTION))?.id;
}

async function numbers(store: PostgresStore): Promise<unknown[]> {
  return (await store.all("select n from item order by id")).map(({ n }) => n);
}

const LETTERS = ["a", "b", "c", "d"];

test("works of one turn have one transaction, and each its own result", async (t) => {
  const { store } = await openItems(t, LETTERS);
  const works = LETTERS.map((id) => store.transactBatched(id, (tx) => addLocked(tx, id)));
  assert.equal(new Set(await Promise.all(works)).size, 1);
  assert.deepEqual(await numbers(store), [1, 1, 1, 1]);
});

test("very many works are done in several transactions, each once", async (t) => {
  const ids = Array.from({ length: 5 * GROUP_MAX }, (_, i) => String(i));
  const { store } = await openItems(t, ids);
  const works = ids.map((id) => store.transactBatched(id, (tx) => addLocked(tx, id)));
  const transactions = new Set(await Promise.all(works));
  assert.equal(transactions.size, 5);
  assert.deepEqual(new Set(await numbers(store)), new Set([1]));
});

test("two works of one subject see each other: they never have one transaction", async (t) => {
  const { store } = await openItems(t, ["a"]);
  const takeFirst = async (tx: Transaction) => {
    const row = await lock(tx, "a");
    // Only the lock prevents that both find it free, and it does not block its own transaction.
    if (row?.n === 0) await add(tx, "a");
    return row?.n;
  };
  const works = [1, 2, 3].map(() => store.transactBatched("a", takeFirst));
  assert.deepEqual((await Promise.all(works)).toSorted(), [0, 1, 1]);
  assert.deepEqual(await numbers(store), [1]);
});

test("an error before the first write affects no other work", async (t) => {
  const { store } = await openItems(t, ["a", "b"]);
  let runs = 0;
  const done = store.transactBatched("a", (tx) => {
    runs++;
    return addLocked(tx, "a");
  });
  const refused = store.transactBatched("b", async (tx) => {
    await lock(tx, "b");
    throw new RangeError("no");
  });
  await Promise.all([done, assert.rejects(refused, /^RangeError: no$/)]);
  assert.equal(runs, 1);
  assert.deepEqual(await numbers(store), [1, 0]);
});

test("a work that fails after a write is undone alone", async (t) => {
  const { store } = await openItems(t, ["a", "b", "c"]);
  const failures: ((tx: Transaction) => Promise<unknown>)[] = [
    async (tx) => {
      await add(tx, "b");
      throw new RangeError("no");
    },
    async (tx) => {
      await add(tx, "b");
      await tx.insert("insert into item (id, n) values ($1, $2)", ["a", 7]);
    },
    async (tx) => {
      await add(tx, "b");
      await tx.get("select n from nowhere").catch(() => undefined);
    },
  ];
  for (const fail of failures) {
    const beside = ["a", "c"].map((id) => store.transactBatched(id, (tx) => addLocked(tx, id)));
    await assert.rejects(store.transactBatched("b", fail));
    await Promise.all(beside);
  }
  assert.deepEqual(await numbers(store), [3, 0, 3]);
});

test("a locked row delays only works that need it", async (t) => {
  const { store } = await openItems(t, ["a", "b", "c"]);
  const isHeld = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<void>();
  const holding = store.transact(async (tx) => {
    await lock(tx, "a");
    isHeld.resolve();
    await hold.promise;
    await add(tx, "a");
  });
  await isHeld.promise;
  const waiting = store.transactBatched("a", (tx) => addLocked(tx, "a"));
  const beside = ["b", "c"].map((id) => store.transactBatched(id, (tx) => addLocked(tx, id)));
  await Promise.all(beside);
  assert.deepEqual(await numbers(store), [0, 1, 1]);
  hold.resolve();
  await Promise.all([holding, waiting]);
  assert.deepEqual(await numbers(store), [2, 1, 1]);
});

test("a connection that breaks during a commit leaves it open for all of them", async (t) => {
  const { url } = await openItems(t, ["a", "b"]);
  const proxy = await startCuttingProxy(t, url);
  const store = await open(t, proxy.url);
  for (const [cut, after] of [
    ["before", 0],
    ["after", 1],
  ] as const) {
    proxy.cut = cut;
    let runs = 0;
    const works = ["a", "b"].map((id) =>
      store.transactBatched(id, (tx) => {
        runs++;
        return addLocked(tx, id);
      }),
    );
    for (const work of works) {
      await assert.rejects(work, (error) => {
        return error instanceof Failure && /outcome is unknown/.test(error.message);
      });
    }
    // The store does not retry works with an unknown outcome.
    assert.equal(runs, 2);
    assert.deepEqual(await numbers(store), [after, after]);
  }
});

test("closing waits for works that have no transaction yet", async (t) => {
  const { store, url } = await openItems(t, ["a", "b"]);
  const works = ["a", "b"].map((id) => store.transactBatched(id, (tx) => addLocked(tx, id)));
  await store.close();
  await Promise.all(works);
  assert.deepEqual(await numbers(await open(t, url)), [1, 1]);
});
