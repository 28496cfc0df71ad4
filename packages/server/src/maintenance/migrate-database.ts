/**
 * Migrates a database without starting a server: as a command, or as a job before replicas start.
 */

import type { SecretSettings, Settings } from "../config/settings.ts";
import { migrate } from "../storage/migrate.ts";
import { readMigrations, schemaOf } from "../storage/read-migrations.ts";
import { NO_SCHEMA, readAnySchemaVersion, type SchemaVersion } from "../storage/schema-version.ts";
import { type BareStore, openEither } from "./open-store.ts";

export interface SchemaState extends SchemaVersion {
  /** The schema of this program. */
  readonly needed: number;
  /** True when this program can use the current schema. */
  readonly isUsable: boolean;
}

export interface Migrated extends SchemaState {
  /** The schema version before the migration. */
  readonly from: number;
}

type DatabaseSettings = Pick<Settings, "database" | "dataDirectory">;

/**
 * Migrates the database to the schema of this program. Needs no secret key.
 *
 * @param directory folder of migrations, instead of the program's own
 * @throws Failure when the database cannot be used, a server runs on the data folder, or this
 * program cannot use its schema
 */
export async function migrateDatabase(
  settings: DatabaseSettings,
  secrets: SecretSettings,
  directory?: string,
): Promise<Migrated> {
  const migrations = readMigrations(directory);
  const opened = await openEither(settings, secrets, "alone");
  try {
    const { version: from } = await schemaIn(opened);
    const schema = await migrate(opened.store, migrations, opened.clock);
    return { ...stateOf(schema, schemaOf(migrations)), from };
  } finally {
    await opened.close();
  }
}

/**
 * Reads only. A server may be running.
 *
 * @throws Failure when the database cannot be used
 */
export async function checkDatabase(
  settings: DatabaseSettings,
  secrets: SecretSettings,
  directory?: string,
): Promise<SchemaState> {
  const opened = await openEither(settings, secrets, "beside");
  try {
    return stateOf(await schemaIn(opened), schemaOf(readMigrations(directory)));
  } finally {
    await opened.close();
  }
}

async function schemaIn({ store, isNew }: BareStore): Promise<SchemaVersion> {
  return isNew ? NO_SCHEMA : readAnySchemaVersion(store);
}

function stateOf(schema: SchemaVersion, needed: number): SchemaState {
  const isUsable = schema.version >= needed && schema.oldestProgram <= needed;
  return { ...schema, needed, isUsable };
}
