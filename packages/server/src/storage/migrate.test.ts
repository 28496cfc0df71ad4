import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { BREAKING, KNOWN, laterMigrations } from "../../test/support/later-migrations.ts";
import { createDatabase } from "../../test/support/postgres.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { migrate } from "./migrate.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { readMigrations } from "./read-migrations.ts";
import { assertMigrated, readAnySchemaVersion, readSchemaVersion } from "./schema-version.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";

type Open = () => Promise<Store>;

const ENGINES: Readonly<Record<string, (t: TestContext) => Promise<Open>>> = {
  async sqlite(t) {
    const folder = mkdtempSync(join(tmpdir(), "countersign-migrate-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const options = { isExclusive: true };
    return async () => new SqliteStore(join(folder, "store.db"), systemClock, options);
  },

  async postgres() {
    const url = await createDatabase();
    const random = systemRandom();
    return () => PostgresStore.open({ url, connectionsMax: 3, acceptsLoss: false, random });
  },
};

/** Each time on connections of its own, as of another process. */
async function using<T>(open: Open, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

for (const [engine, prepare] of Object.entries(ENGINES)) {
  test(`[ours.migrate.older-database] migrate takes over the database of an earlier program, on ${engine}`, async (t) => {
    const open = await prepare(t);
    const own = readMigrations();
    await using(open, (store) => migrate(store, own, systemClock));
    await using(open, (store) =>
      store.transactExclusive(async (tx) => {
        await tx.run("drop table schema_version");
        await tx.run("create table schema_version (version bigint not null)");
        await tx.run("insert into schema_version (version) values ($1)", [KNOWN]);
      }),
    );
    const as = { version: KNOWN, oldestProgram: KNOWN };
    assert.deepEqual(await using(open, readAnySchemaVersion), as);
    assert.deepEqual(await using(open, (store) => migrate(store, own, systemClock)), as);
    assert.deepEqual(await using(open, readSchemaVersion), as);
    const later = readMigrations(laterMigrations(t, `-- compatible with: ${KNOWN}\n${BREAKING}`));
    const migrated = await using(open, (store) => migrate(store, later, systemClock));
    assert.deepEqual(migrated, { version: KNOWN + 1, oldestProgram: KNOWN });
  });

  test(`[ours.migrate.rolling] an additive migration after a breaking one admits no older program, on ${engine}`, async (t) => {
    const open = await prepare(t);
    const additive = `-- compatible with: ${KNOWN}\ncreate table a (n bigint)`;
    const later = laterMigrations(t, BREAKING, additive);
    const schema = await using(open, (store) => migrate(store, readMigrations(later), systemClock));
    assert.deepEqual(schema, { version: KNOWN + 2, oldestProgram: KNOWN + 1 });
    assert.throws(() => assertMigrated(schema, KNOWN), /use a newer version of countersign/);
    assertMigrated(schema, KNOWN + 1);
    assert.throws(() => assertMigrated(schema, KNOWN + 3), /run countersign migrate/);
  });

  test(`[ours.migrate.command] one that fails leaves nothing, nor do those before it, on ${engine}`, async (t) => {
    const open = await prepare(t);
    const own = readMigrations();
    await using(open, (store) => migrate(store, own, systemClock));
    const wrong = `-- compatible with: ${KNOWN}\ncreate table half (n bigint); drop table nothing`;
    const additive = `-- compatible with: ${KNOWN}\ncreate table whole (n bigint)`;
    const later = readMigrations(laterMigrations(t, additive, wrong));
    await assert.rejects(using(open, (store) => migrate(store, later, systemClock)));
    const { version } = await using(open, readSchemaVersion);
    assert.equal(version, KNOWN);
    for (const table of ["half", "whole"]) {
      await assert.rejects(using(open, (store) => store.all(`select * from ${table}`)));
    }
  });
}

test("[ours.migrate.rolling] compatible with itself or what follows is a mistake, so are two of one number", (t) => {
  const says = (version: number) => `-- compatible with: ${version}\nselect 1`;
  for (const version of [KNOWN + 1, KNOWN + 2, 0]) {
    assert.throws(() => readMigrations(laterMigrations(t, says(version))), /earlier schemas only/);
  }
  const folder = laterMigrations(t, says(KNOWN));
  writeFileSync(join(folder, `${String(KNOWN + 1).padStart(4, "0")}_again.sql`), "select 1");
  assert.throws(() => readMigrations(folder), /two migrations have the number/);
});
