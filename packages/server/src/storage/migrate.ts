/**
 * Migrates a database to the schema of this program: numbered SQL files, applied in order in one
 * transaction. Each file names the older programs that may keep running, so that replicas can be
 * upgraded one by one; see docs/decisions/0012-rolling-upgrades.md.
 */

import type { Clock } from "../clock.ts";
import { type Migration, schemaOf, splitStatements } from "./read-migrations.ts";
import {
  assertKnown,
  ensureSchemaVersion,
  readSchemaVersion,
  type SchemaVersion,
  writeSchemaVersion,
} from "./schema-version.ts";
import type { Store, Transaction } from "./store.ts";

/**
 * Time in ms for replicas to detect that they must stop (they check every second), and to finish
 * their work.
 */
const NOTICE_MS = 5_000;

/**
 * Before an incompatible migration, older programs are notified and given time to stop. Until it is
 * applied, only migrating programs can start.
 *
 * @returns the current schema, which may be newer than this program's
 * @throws Failure when this program cannot use the database
 */
export async function migrate(
  store: Store,
  migrations: readonly Migration[],
  clock: Clock,
): Promise<SchemaVersion> {
  const known = schemaOf(migrations);
  const schema = await store.transactExclusive(async (tx) => {
    await ensureSchemaVersion(tx);
    const current = await readSchemaVersion(tx);
    assertKnown(current, known);
    const target = after(current, migrations);
    if (store.isExclusive || !breaksOthers(current, target)) return apply(tx, current, migrations);
    await writeSchemaVersion(tx, { ...current, oldestProgram: target.oldestProgram });
    return undefined;
  });
  if (schema !== undefined) return schema;
  await new Promise<void>((resolve) => clock.after(NOTICE_MS, resolve));
  return store.transactExclusive(async (tx) => {
    const current = await readSchemaVersion(tx);
    assertKnown(current, known);
    return apply(tx, current, migrations);
  });
}

/** The schema version after these migrations. */
function after(current: SchemaVersion, migrations: readonly Migration[]): SchemaVersion {
  const pending = migrations.filter(({ version }) => version > current.version);
  return pending.reduce(
    ({ oldestProgram }, { version, compatibleWith }) => ({
      version,
      oldestProgram: Math.max(oldestProgram, compatibleWith),
    }),
    current,
  );
}

/** True when incompatible programs may be running, even if they were already notified. */
function breaksOthers(current: SchemaVersion, target: SchemaVersion): boolean {
  if (current.version === 0 || current.version === target.version) return false;
  return target.oldestProgram > Math.min(current.oldestProgram, current.version);
}

async function apply(
  tx: Transaction,
  current: SchemaVersion,
  migrations: readonly Migration[],
): Promise<SchemaVersion> {
  const target = after(current, migrations);
  if (target === current) return current;
  for (const { version, sql } of migrations) {
    if (version <= current.version) continue;
    for (const statement of splitStatements(sql, tx.search.engine)) await tx.run(statement);
  }
  await writeSchemaVersion(tx, target);
  return target;
}
