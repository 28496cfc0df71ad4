/**
 * Stores without a schema, one for each engine: for tests about the schema itself.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemRandom } from "../../src/clock.ts";
import { PostgresStore } from "../../src/storage/postgres/postgres-store.ts";
import { splitStatements } from "../../src/storage/read-migrations.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import type { Store } from "../../src/storage/store.ts";
import type { Engine } from "./engine.ts";
import { ManualClock } from "./manual-clock.ts";
import { createDatabase } from "./postgres.ts";

/** One test for each engine, on a store of its own. */
export function testOnEmptyStores(
  name: string,
  run: (store: Store, engine: Engine) => Promise<void>,
): void {
  for (const engine of ["sqlite", "postgres"] as const) {
    test(`${name}, on ${engine}`, async (t) => {
      const store = engine === "sqlite" ? openFile(t) : await openDatabase();
      try {
        await run(store, engine);
      } finally {
        await store.close();
      }
    });
  }
}

export function openFile(t: TestContext): Store {
  const folder = mkdtempSync(join(tmpdir(), "countersign-schema-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return new SqliteStore(join(folder, "store.db"), new ManualClock());
}

async function openDatabase(): Promise<Store> {
  const url = await createDatabase();
  const random = systemRandom();
  return PostgresStore.open({ url, connectionsMax: 2, acceptsLoss: false, random });
}

const MIGRATIONS = join(import.meta.dirname, "../../src/storage/migrations");

/** Applies the migrations with these numbers, each bound included, as they are written. */
export async function applyMigrations(
  store: Store,
  first: number,
  last = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const files = readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith(".sql"))
    .filter((name) => Number.parseInt(name, 10) >= first && Number.parseInt(name, 10) <= last);
  await store.transactExclusive(async (tx) => {
    for (const name of files.sort()) {
      const sql = readFileSync(join(MIGRATIONS, name), "utf8");
      for (const statement of splitStatements(sql, tx.search.engine)) await tx.run(statement);
    }
  });
}
