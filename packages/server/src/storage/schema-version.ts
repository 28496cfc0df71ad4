/**
 * The one row of the table `schema_version`: which schema a database has, and which programs can
 * use it. migrate.ts creates and changes it; servers poll it while they run.
 */

import { Failure } from "../failure.ts";
import type { Reader, Row, Transaction } from "./store.ts";

export interface SchemaVersion {
  /** Of the migration that was applied last; 0 when there is none. */
  readonly version: number;
  /**
   * The lowest schema that a program must know to use the database. Above `version` while a
   * migration is announced that older programs cannot go on with.
   */
  readonly oldestProgram: number;
}

export const NO_SCHEMA: SchemaVersion = { version: 0, oldestProgram: 0 };

/**
 * Makes the table, or gives one that an earlier program made the column that it lacks. Nothing
 * is known about what those programs applied, so only programs of the same schema can use it.
 */
export async function ensureSchemaVersion(tx: Transaction): Promise<void> {
  await tx.run(
    "create table if not exists schema_version (version bigint not null, oldest_program bigint)",
  );
  const row = await tx.get("select * from schema_version");
  if (row === undefined || "oldest_program" in row) return;
  await tx.run("alter table schema_version add column oldest_program bigint");
}

/** @throws an error of the engine when the table was not made, or by a program of long ago */
export async function readSchemaVersion(reader: Reader): Promise<SchemaVersion> {
  return toSchemaVersion(await reader.get("select version, oldest_program from schema_version"));
}

/** As {@link readSchemaVersion}, of a table that any program has made. */
export async function readAnySchemaVersion(reader: Reader): Promise<SchemaVersion> {
  return toSchemaVersion(await reader.get("select * from schema_version"));
}

export async function writeSchemaVersion(
  tx: Transaction,
  { version, oldestProgram }: SchemaVersion,
): Promise<void> {
  await tx.run("delete from schema_version");
  await tx.run("insert into schema_version (version, oldest_program) values ($1, $2)", [
    version,
    oldestProgram,
  ]);
}

/**
 * @param known the schema that this program knows
 * @throws Failure when a program must know more than that to use the database
 */
export function assertKnown({ version, oldestProgram }: SchemaVersion, known: number): void {
  if (oldestProgram <= known) return;
  const needs =
    oldestProgram > version
      ? `is being migrated to schema ${oldestProgram}`
      : `has schema ${version}, which requires a program with schema ${oldestProgram}`;
  throw new Failure("store", `the database ${needs}; this program has schema ${known}: ${ADVICE}`);
}

const ADVICE = "use a newer version of countersign";

/**
 * For programs that leave the schema as it is.
 *
 * @throws Failure when a program that knows this schema cannot use the database unchanged
 */
export function assertMigrated(schema: SchemaVersion, known: number): void {
  assertKnown(schema, known);
  if (schema.version >= known) return;
  throw new Failure(
    "store",
    `the database has schema ${schema.version}, this program needs ${known}: ` +
      "run countersign migrate, or start a server that migrates it",
  );
}

function toSchemaVersion(row: Row | undefined): SchemaVersion {
  if (row === undefined) return NO_SCHEMA;
  const version = Number(row.version);
  const { oldest_program: oldest = null } = row;
  return { version, oldestProgram: oldest === null ? version : Number(oldest) };
}
