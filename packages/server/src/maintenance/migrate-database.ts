/**
 * Migrations apart from a start: by a person, or by a job that runs before the replicas do.
 */

import type { SecretSettings, Settings } from "../config/settings.ts";
import { migrate } from "../storage/migrate.ts";
import { readMigrations, schemaOf } from "../storage/read-migrations.ts";
import { NO_SCHEMA, readAnySchemaVersion, type SchemaVersion } from "../storage/schema-version.ts";
import { type BareStore, openEither } from "./open-store.ts";

export interface SchemaState extends SchemaVersion {
  /** The schema that this program knows. */
  readonly needed: number;
  /** Whether this program can use the database as it is. */
  readonly isUsable: boolean;
}

export interface Migrated extends SchemaState {
  /** The version before. */
  readonly from: number;
}

type DatabaseSettings = Pick<Settings, "database" | "dataDirectory">;

/**
 * Brings the database to the schema of this program. Needs no secret key.
 *
 * @param directory of the migrations, in place of those of this program
 * @throws Failure when the database cannot be used, a server runs on the data folder, or this
 *   program cannot use what the database has
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
 * Only reads, also beside a running server.
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
