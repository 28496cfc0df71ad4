import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { Failure } from "../../failure.ts";
import type { Transaction } from "../store.ts";
import { SqliteStore } from "./sqlite-store.ts";

interface Opened {
  readonly store: SqliteStore;
  readonly file: string;
  readonly clock: ManualClock;
}

/** A store with one table of ids, on a file that goes with the test. */
async function openStore(t: TestContext): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-store-"));
  const file = join(directory, "store.db");
  const clock = new ManualClock();
  const store = new SqliteStore(file, clock);
  t.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await store.transact(async (tx) => {
    await tx.run("create table parent (id text not null primary key)");
    await tx.run(
      "create table item (id text primary key not null, n bigint, parent text references parent)",
    );
  });
  return { store, file, clock };
}

const insert = (tx: Transaction, id: string, n = 0) =>
  tx.run("insert into item (id, n) values ($1, $2)", [id, n]);

async function ids(store: Pick<SqliteStore, "all">): Promise<unknown[]> {
  return (await store.all("select id from item order by id")).map(({ id }) => id);
}

test("committed rows are read by name, with their types", async (t) => {
  const { store } = await openStore(t);
  const written = await store.transact((tx) => insert(tx, "a\u0000é😀", 2 ** 53 - 1));
  assert.equal(written, 1);
  const row = await store.get("select id, n, parent from item");
  assert.deepEqual({ ...row }, { id: "a\u0000é😀", n: 2 ** 53 - 1, parent: null });
  assert.equal(await store.get("select id from item where id = $1", ["b"]), undefined);
  assert.deepEqual(await store.all("select id from item where id = $1", ["b"]), []);
});

test("a statement uses the index that its comment names, and fails without it", async (t) => {
  const { store } = await openStore(t);
  await store.transact((tx) => tx.run("create index item_n on item (n)"));
  const planOf = (table: string) =>
    store.all(`explain query plan select n from ${table} where id = $1 and n = $2`, ["a", 1]);
  assert.match(String((await planOf("item"))[0]?.detail), /autoindex/);
  const [step] = await planOf("item /* indexed by item_n */");
  assert.match(String(step?.detail), /item_n/);
  await assert.rejects(planOf("item /* indexed by item_gone */"), /no such index/);
});

test("parameters are bound by number, in any order and more than once", async (t) => {
  const { store } = await openStore(t);
  await store.transact((tx) => tx.run("insert into item (n, id) values ($2, $1)", ["swapped", 5]));
  const sql = "select $2 as b, $1 as a, $2 as again, n from item where id = $3 and n = $4";
  const row = await store.get(sql, ["one", "two", "swapped", 5]);
  assert.deepEqual({ ...row }, { b: "two", a: "one", again: "two", n: 5 });
  const many = Array.from({ length: 12 }, (_, i) => i + 1);
  const twelve = `select ${many.map((i) => `$${i} as c${i}`).join(", ")}`;
  assert.deepEqual(Object.values((await store.get(twelve, many)) ?? {}), many);
});

test("readers never see what is not committed, the transaction itself does", async (t) => {
  const { store } = await openStore(t);
  await store.transact(async (tx) => {
    await insert(tx, "a");
    assert.deepEqual(await ids(tx), ["a"]);
    assert.deepEqual(await ids(store), []);
  });
  assert.deepEqual(await ids(store), ["a"]);
});

test("concurrent transactions are answered after one commit that contains them all", async (t) => {
  const { store } = await openStore(t);
  const names = Array.from({ length: 20 }, (_, i) => `item ${String(i).padStart(2, "0")}`);
  let answered = 0;
  const seen = await Promise.all(
    names.map(async (name) => {
      await store.transact(async (tx) => {
        assert.equal(answered, 0, "a transaction was answered before the commit");
        await insert(tx, name);
        assert.deepEqual(await ids(store), []);
      });
      answered++;
      return ids(store);
    }),
  );
  for (const each of seen) assert.deepEqual(each, names);
});

test("more than one commit can hold are all answered, in the order they came", async (t) => {
  const { store } = await openStore(t);
  const order: number[] = [];
  const works = Array.from({ length: 600 }, (_, i) =>
    store.transact((tx) => insert(tx, String(i))).then(() => order.push(i)),
  );
  await Promise.all(works);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.equal((await ids(store)).length, 600);
});

test("a work that fails undoes only its own writes", async (t) => {
  const { store } = await openStore(t);
  const refusal = new Error("refused");
  const outcomes = await Promise.allSettled([
    store.transact((tx) => insert(tx, "before")),
    store.transact(async (tx) => {
      await insert(tx, "undone");
      await tx.run("update item set n = 99");
      throw refusal;
    }),
    store.transact(async (tx) => {
      await insert(tx, "between");
      assert.deepEqual(await ids(tx), ["before", "between"]);
    }),
    store.transact((tx) => insert(tx, "before")),
    store.transact((tx) => insert(tx, "after")),
  ]);
  const fates = outcomes.map(({ status }) => status);
  assert.deepEqual(fates, ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
  assert.equal((outcomes[1] as PromiseRejectedResult).reason, refusal);
  assert.deepEqual(await ids(store), ["after", "before", "between"]);
  assert.deepEqual(await store.all("select id from item where n = 99"), []);
});

test("a work may be run again, and only its last run counts", async (t) => {
  const { store } = await openStore(t);
  const runs: string[] = [];
  const neighbour = store.transact(async (tx) => {
    runs.push("neighbour");
    await insert(tx, "neighbour", runs.length);
    return runs.length;
  });
  const failing = store.transact(async (tx) => {
    runs.push("failing");
    await insert(tx, "failing");
    throw new Error("refused");
  });
  await assert.rejects(failing, /refused/);
  const answered = await neighbour;
  const row = await store.get("select n from item where id = 'neighbour'");
  assert.equal(row?.n, answered);
  assert.deepEqual(await ids(store), ["neighbour"]);
});

test("a work that fails before a write affects no other", async (t) => {
  const { store } = await openStore(t);
  let runs = 0;
  const outcomes = await Promise.allSettled([
    store.transact(async (tx) => {
      runs++;
      await insert(tx, "neighbour");
    }),
    store.transact(async (tx) => {
      await tx.run("update item set n = 1 where id = $1", ["nobody"]);
      throw new Error("refused");
    }),
  ]);
  const fates = outcomes.map(({ status }) => status);
  assert.deepEqual(fates, ["fulfilled", "rejected"]);
  assert.equal(runs, 1);
});

test("a wrong statement is a bug and no failure of the engine", async (t) => {
  const { store } = await openStore(t);
  await assert.rejects(store.get("select nothing from nowhere"), (error) => {
    return error instanceof Error && !(error instanceof Failure);
  });
  await assert.rejects(
    store.transact((tx) => tx.run("insert into item (id) values ($1)", [null])),
    (error) => error instanceof Error && !(error instanceof Failure),
  );
});

test("a failed commit fails all its members, and the next one succeeds", async (t) => {
  const { store } = await openStore(t);
  const orphan = async (tx: Transaction) => {
    await tx.run("pragma defer_foreign_keys = on");
    await tx.run("insert into item (id, parent) values ('orphan', 'nobody')");
  };
  const outcomes = await Promise.allSettled([
    store.transact((tx) => insert(tx, "neighbour")),
    store.transact(orphan),
    store.transact(async (tx) => tx.get("select 1 as one")),
  ]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === "rejected" && outcome.reason instanceof Failure);
  }
  assert.deepEqual(await ids(store), []);
  await store.transact((tx) => insert(tx, "later"));
  assert.deepEqual(await ids(store), ["later"]);
});

test("a transaction that has ended answers no more queries", async (t) => {
  const { store } = await openStore(t);
  const kept: Transaction[] = [];
  await store.transact(async (tx) => void kept.push(tx));
  await assert.rejects(
    store.transact(async (tx) => {
      kept.push(tx);
      throw new Error("refused");
    }),
  );
  assert.equal(kept.length, 2);
  for (const tx of kept) {
    await assert.rejects(insert(tx, "late"), /has ended/);
    await assert.rejects(tx.get("select 1 as one"), /has ended/);
    await assert.rejects(tx.all("select 1 as one"), /has ended/);
    await assert.rejects(tx.lock("update", "select 1 as one"), /has ended/);
  }
  assert.deepEqual(await ids(store), []);
});

test("reads outside a transaction cannot write", async (t) => {
  const { store } = await openStore(t);
  await assert.rejects(store.all("insert into item (id) values ('x') returning id"));
  assert.deepEqual(await ids(store), []);
});

test("a transaction returns the time of its clock", async (t) => {
  const { store, clock } = await openStore(t);
  assert.equal(await store.transact((tx) => tx.now()), clock.now());
  clock.advance(5);
  assert.equal(await store.transact((tx) => tx.now()), clock.now());
});

test("closing lets the waiting finish, refuses the late, and may be repeated", async (t) => {
  const { store, file, clock } = await openStore(t);
  const last = store.transact((tx) => insert(tx, "last"));
  const closed = store.close();
  await assert.rejects(
    store.transact((tx) => insert(tx, "late")),
    Failure,
  );
  await assert.rejects(store.get("select 1 as one"), Failure);
  await Promise.all([last, closed, store.close()]);
  const again = new SqliteStore(file, clock);
  t.after(() => again.close());
  assert.deepEqual(await ids(again), ["last"]);
});

test("a migration keeps the data to undo a statement in a file, not in memory", async (t) => {
  const { store } = await openStore(t);
  const where = async (tx: Transaction) => Object.values((await tx.get("pragma temp_store")) ?? {});
  const [file, memory] = [[1], [2]];
  assert.deepEqual(await store.transact(where), memory);
  assert.deepEqual(await store.transactExclusive(where), file);
  await assert.rejects(
    store.transactExclusive(() => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.deepEqual(await store.transact(where), memory);
});
