/**
 * Brings a database to the schema that this program knows: numbered SQL files, applied in order
 * in one transaction. Each says which older programs can go on beside it, so that replicas are
 * upgraded one after another; docs/decisions/0012-rolling-upgrades.md argues.
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
 * How long replicas have to notice that they cannot go on, which they look for every second, and
 * to finish what they do. ms.
 */
const NOTICE_MS = 5_000;

/**
 * Before a migration that breaks older programs, these are notified and given the time to stop:
 * from then on until the migration is applied, only migrating programs start.
 *
 * @returns what the database has now, which may be newer than what this program knows
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

/** What a database has once these migrations are applied to it. */
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

/** Whether programs may be running that are too old; true also when they were notified before. */
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
    for (const statement of splitStatements(sql)) await tx.run(statement);
  }
  await writeSchemaVersion(tx, target);
  return target;
}
