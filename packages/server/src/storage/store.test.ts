/**
 * Guarantees of the interface Store on every engine. The tests beside an engine cover its specific
 * behaviour.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { createDatabase } from "../../test/support/postgres.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { Failure } from "../failure.ts";
import { migrate } from "./migrate.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { readMigrations, schemaOf } from "./read-migrations.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import type { Reader, Store, Transaction } from "./store.ts";

interface Opened {
  readonly store: Store;
  readonly clock: ManualClock;
  /** Another store on the same database, as of another process. */
  reopen(): Promise<Store>;
}

type Open = (t: TestContext, clock: ManualClock) => Promise<() => Promise<Store>>;

const ENGINES: Readonly<Record<string, Open>> = {
  async sqlite(t, clock) {
    const directory = mkdtempSync(join(tmpdir(), "countersign-store-"));
    t.after(() => rmSync(directory, { recursive: true }));
    return async () => new SqliteStore(join(directory, "store.db"), clock);
  },

  async postgres(_, clock) {
    const url = await createDatabase();
    const random = systemRandom();
    return () => PostgresStore.open({ url, connectionsMax: 5, acceptsLoss: false, random, clock });
  },
};

/** A store with two tables, closed and gone with the test. */
async function openStore(t: TestContext, engine: Open): Promise<Opened> {
  const clock = new ManualClock();
  const opened: Store[] = [];
  // Registered first, so that it runs before the folder goes.
  const ends: (() => void)[] = [];
  t.after(async () => {
    for (const store of opened) await store.close();
    for (const end of ends) end();
  });
  const owner = { after: (end: () => void) => void ends.push(end) } as TestContext;
  const open = await engine(owner, clock);
  const reopen = async () => {
    const store = await open();
    opened.push(store);
    return store;
  };
  const store = await reopen();
  await store.transact(async (tx) => {
    await tx.run("create table parent (id text not null primary key)");
    await tx.run(
      "create table item (id text primary key not null, n bigint, parent text references parent)",
    );
  });
  return { store, clock, reopen };
}

const insert = (tx: Transaction, id: string, n = 0) =>
  tx.run("insert into item (id, n) values ($1, $2)", [id, n]);

async function ids(reader: Reader): Promise<unknown[]> {
  return (await reader.all("select id from item order by id")).map(({ id }) => id);
}

/** One test for each engine. */
function onEveryEngine(name: string, run: (opened: Opened, t: TestContext) => Promise<void>): void {
  for (const [engine, open] of Object.entries(ENGINES)) {
    test(`${engine}: ${name}`, async (t) => run(await openStore(t, open), t));
  }
}

onEveryEngine("committed rows are read by name, with their types", async ({ store }) => {
  const written = await store.transact((tx) => insert(tx, "a\u0001é😀", 2 ** 53 - 1));
  assert.equal(written, 1);
  const row = await store.get("select id, n, parent from item");
  assert.deepEqual({ ...row }, { id: "a\u0001é😀", n: 2 ** 53 - 1, parent: null });
  assert.equal(await store.get("select id from item where id = $1", ["b"]), undefined);
  assert.deepEqual(await store.all("select id from item where id = $1", ["b"]), []);
  const counted = await store.get("select count(*) as n, sum(n) as total, 7 as seven from item");
  assert.deepEqual({ ...counted }, { n: 1, total: 2 ** 53 - 1, seven: 7 });
});

onEveryEngine(
  "a lookup by keys finds all its rows, in a transaction also its own",
  async ({ store }) => {
    const sql = "select id from item where id in ($1, $2, $3) order by id";
    const lookup = async (reader: Reader) =>
      (await reader.getMany(sql, ["a", "b", "c"])).map(({ id }) => id);
    assert.deepEqual(await lookup(store), []);
    await store.transact(async (tx) => {
      await insert(tx, "c");
      await insert(tx, "a");
      assert.deepEqual(await lookup(tx), ["a", "c"]);
    });
    await store.transact((tx) => insert(tx, "d"));
    assert.deepEqual(await lookup(store), ["a", "c"]);
  },
);

onEveryEngine("a number that is not exact as one is an error", async ({ store }) => {
  await store.transact((tx) => insert(tx, "a", 2 ** 53 - 1));
  await assert.rejects(store.get("select n + 5 as n from item"), RangeError);
});

onEveryEngine("parameters are bound by number, in any order, more than once", async ({ store }) => {
  await store.transact((tx) => tx.run("insert into item (n, id) values ($2, $1)", ["swapped", 5]));
  const columns = "cast($2 as text) as b, cast($1 as text) as a, cast($2 as text) as again, n";
  const sql = `select ${columns} from item where id = $3 and n = $4`;
  const row = await store.get(sql, ["one", "two", "swapped", 5]);
  assert.deepEqual({ ...row }, { b: "two", a: "one", again: "two", n: 5 });
  const many = Array.from({ length: 12 }, (_, i) => i + 1);
  const twelve = `select ${many.map((i) => `cast($${i} as bigint) as c${i}`).join(", ")}`;
  assert.deepEqual(Object.values((await store.get(twelve, many)) ?? {}), many);
});

onEveryEngine("more different statements than are prepared can be sent", async ({ store }) => {
  for (let i = 0; i < 600; i++) {
    assert.deepEqual(
      { ...(await store.get(`select cast($1 as bigint) as c${i}`, [i])) },
      {
        [`c${i}`]: i,
      },
    );
  }
});

onEveryEngine("readers never see what is not committed, the work does", async ({ store }) => {
  await store.transact(async (tx) => {
    await insert(tx, "a");
    assert.deepEqual(await ids(tx), ["a"]);
    assert.deepEqual(await ids(store), []);
  });
  assert.deepEqual(await ids(store), ["a"]);
});

onEveryEngine("many at one time are all answered, each after its commit", async ({ store }) => {
  const names = Array.from({ length: 300 }, (_, i) => `item ${String(i).padStart(3, "0")}`);
  const works = names.map(async (name) => {
    const written = await store.transact((tx) => insert(tx, name));
    assert.equal(written, 1);
    assert.ok(await store.get("select id from item where id = $1", [name]));
  });
  await Promise.all(works);
  assert.deepEqual(await ids(store), names);
});

onEveryEngine("a change that answers rows is undone like any other", async ({ store }) => {
  await store.transact((tx) => insert(tx, "kept"));
  const failure = new Error("the work failed");
  const work = store.transact(async (tx) => {
    const rows = await tx.runReturning("delete from item where id = $1 returning id", ["kept"]);
    assert.deepEqual(
      rows.map(({ id }) => id),
      ["kept"],
    );
    throw failure;
  });
  await assert.rejects(work, failure);
  assert.deepEqual(await ids(store), ["kept"]);
});

onEveryEngine("a work that fails undoes only its own writes", async ({ store }) => {
  await store.transact((tx) => insert(tx, "before"));
  const refusal = new Error("refused");
  const outcomes = await Promise.allSettled([
    store.transact(async (tx) => {
      await insert(tx, "undone");
      await tx.run("update item set n = 99");
      throw refusal;
    }),
    store.transact((tx) => insert(tx, "between")),
    store.transact((tx) => insert(tx, "before")),
    store.transact((tx) => insert(tx, "after")),
  ]);
  const fates = outcomes.map(({ status }) => status);
  assert.deepEqual(fates, ["rejected", "fulfilled", "rejected", "fulfilled"]);
  assert.equal((outcomes[0] as PromiseRejectedResult).reason, refusal);
  assert.deepEqual(await ids(store), ["after", "before", "between"]);
  assert.deepEqual(await store.all("select id from item where n = 99"), []);
});

onEveryEngine("another process reads the committed rows", async ({ store, reopen }) => {
  await store.transact((tx) => insert(tx, "a"));
  assert.deepEqual(await ids(await reopen()), ["a"]);
  await store.close();
  assert.deepEqual(await ids(await reopen()), ["a"]);
});

onEveryEngine("a wrong statement is a bug and no failure of the engine", async ({ store }) => {
  const isBug = (error: unknown) => error instanceof Error && !(error instanceof Failure);
  await assert.rejects(store.get("select nothing from nowhere"), isBug);
  await assert.rejects(
    store.transact((tx) => tx.run("insert into item (id) values ($1)", [null])),
    isBug,
  );
  assert.deepEqual(await ids(store), []);
});

onEveryEngine(
  "a row that is not inserted because it is there counts as none",
  async ({ store }) => {
    const sql = "insert into item (id, n) values ($1, 1) on conflict (id) do nothing";
    const written = await Promise.all(
      Array.from({ length: 8 }, () => store.transact((tx) => tx.run(sql, ["same"]))),
    );
    assert.deepEqual(written.sort(), [0, 0, 0, 0, 0, 0, 0, 1]);
  },
);

onEveryEngine("a row read under a lock does not change until the commit", async ({ store }) => {
  await store.transact((tx) => insert(tx, "counter"));
  const increment = () =>
    store.transact(async (tx) => {
      const row = await tx.lock("update", "select n from item where id = $1", ["counter"]);
      await tx.run("update item set n = $1 where id = 'counter'", [Number(row?.n) + 1]);
    });
  await Promise.all(Array.from({ length: 40 }, increment));
  assert.equal((await store.get("select n from item"))?.n, 40);
});

onEveryEngine("a transaction that has ended answers no more queries", async ({ store }) => {
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
    assert.throws(() => tx.onCommit(() => {}), /has ended/);
  }
  assert.deepEqual(await ids(store), []);
});

onEveryEngine(
  "a commit hook runs once, when readers see the commit, before the caller continues",
  async ({ store }) => {
    const events: string[] = [];
    const seen: Promise<unknown>[] = [];
    await store.transact(async (tx) => {
      await insert(tx, "a");
      tx.onCommit(() => {
        events.push("hook");
        seen.push(ids(store));
      });
      events.push("work");
    });
    events.push("answer");
    assert.deepEqual(events, ["work", "hook", "answer"]);
    assert.deepEqual(await Promise.all(seen), [["a"]]);
  },
);

onEveryEngine("a transaction that is rolled back runs no commit hook", async ({ store }) => {
  await store.transact((tx) => insert(tx, "taken"));
  const ran: string[] = [];
  const works: Readonly<Record<string, (tx: Transaction) => Promise<unknown>>> = {
    fails: () => Promise.reject(new Error("refused")),
    async failsAfterWrite(tx) {
      await insert(tx, "undone");
      throw new Error("refused");
    },
    // PostgreSQL may find this out at the commit only.
    failsAtCommit: (tx) => tx.insert("insert into item (id) values ($1)", ["taken"]),
  };
  for (const [name, work] of Object.entries(works)) {
    const run = (tx: Transaction) => {
      tx.onCommit(() => ran.push(name));
      return work(tx);
    };
    await assert.rejects(store.transact(run));
    await assert.rejects(store.transactBatched(name, run));
    await assert.rejects(store.transactExclusive(run));
  }
  assert.deepEqual(ran, []);
});

onEveryEngine(
  "of works that share a commit, each committed one runs its hooks once, also when run again",
  async ({ store }) => {
    const ran: string[] = [];
    let runs = 0;
    const work = (id: string) =>
      store.transactBatched(id, async (tx) => {
        runs++;
        tx.onCommit(() => ran.push(id));
        await insert(tx, id);
        if (id === "c") throw new Error("refused");
      });
    const outcomes = await Promise.allSettled(["a", "b", "c", "d"].map(work));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(ran.sort(), ["a", "b", "d"]);
    assert.ok(runs > 4, "the works were rolled back together and run again");
  },
);

onEveryEngine("a write that is sent as a read is an error", async ({ store }) => {
  for (const read of ["get", "all"] as const) {
    await assert.rejects(store[read]("insert into item (id) values ($1) returning id", [read]));
  }
});

onEveryEngine("a transaction returns the time of its clock", async (opened) => {
  const { store, clock } = opened;
  assert.equal(await store.transact((tx) => tx.now()), clock.now());
  clock.advance(5);
  assert.equal(await store.transact((tx) => tx.now()), clock.now());
});

onEveryEngine("exclusive transactions run one after another", async ({ store, reopen }) => {
  const other = await reopen();
  let inside = 0;
  const alone = (each: Store, id: string) =>
    each.transactExclusive(async (tx) => {
      assert.equal(++inside, 1);
      await insert(tx, id);
      await tx.get("select 1 as one");
      inside--;
    });
  await Promise.all([alone(store, "a"), alone(other, "b"), alone(store, "c"), alone(other, "d")]);
  assert.deepEqual(await ids(store), ["a", "b", "c", "d"]);
});

onEveryEngine("of migrations that begin at one time, one makes the schema", async (opened) => {
  const { store, reopen } = opened;
  const stores = [store, await reopen(), await reopen()];
  const migrations = readMigrations();
  const made = await Promise.all(stores.map((each) => migrate(each, migrations, systemClock)));
  for (const { version } of made) assert.equal(version, schemaOf(migrations));
  assert.deepEqual((await store.get("select count(*) as n from schema_version"))?.n, 1);
  await store.check();
  const health = await store.all("select checked_at from health");
  assert.deepEqual(
    health.map(({ checked_at }) => checked_at),
    [1],
  );
});

onEveryEngine(
  "closing lets the waiting finish, refuses the late, and may be repeated",
  async (o) => {
    const { store, reopen } = o;
    const last = store.transact((tx) => insert(tx, "last"));
    const closed = store.close();
    await assert.rejects(
      store.transact((tx) => insert(tx, "late")),
      Failure,
    );
    await assert.rejects(store.get("select 1 as one"), Failure);
    await Promise.all([last, closed, store.close()]);
    assert.deepEqual(await ids(await reopen()), ["last"]);
  },
);
