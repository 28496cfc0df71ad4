/**
 * The audit log as it is in the database, for those who only read it: beside a running server, and
 * without the secret key.
 *
 * Called by: the commands `countersign audit`.
 */

import type { SecretSettings, Settings } from "../config/settings.ts";
import { Failure } from "../failure.ts";
import { readMigrations, schemaOf } from "../storage/read-migrations.ts";
import { assertMigrated, readAnySchemaVersion } from "../storage/schema-version.ts";
import { readLog, type StoredLog } from "../storage/sql/audit-logs.ts";
import { readProjects } from "../storage/sql/holders.ts";
import { SERVER } from "../storage/sql/policy-versions.ts";
import type { Reader } from "../storage/store.ts";
import { openEither } from "./open-store.ts";

export interface AuditDatabase {
  readonly reader: Reader;
  /** By its clock, epoch ms. */
  readonly now: number;
  /**
   * @param project its name; undefined for what is of the whole server
   * @throws Failure when there is no such project, or nothing of it is sealed yet
   */
  log(project: string | undefined): Promise<StoredLog>;
}

/** @throws Failure when the database cannot be used, or has another schema than this program */
export async function withAuditDatabase<T>(
  settings: Pick<Settings, "database" | "dataDirectory">,
  secrets: Pick<SecretSettings, "databaseUrl">,
  work: (database: AuditDatabase) => Promise<T>,
): Promise<T> {
  const { store, isNew, clock, close } = await openEither(settings, secrets, "beside");
  try {
    if (isNew) throw new Failure("audit", "there is nothing in the database");
    assertMigrated(await readAnySchemaVersion(store), schemaOf(readMigrations()));
    const log = (project: string | undefined) => findLog(store, project);
    return await work({ reader: store, now: clock.now(), log });
  } finally {
    await close();
  }
}

async function findLog(reader: Reader, name: string | undefined): Promise<StoredLog> {
  const id = name === undefined ? SERVER : (await readProjects(reader, name))[0]?.id;
  if (id === undefined) throw new Failure("audit", `there is no project ${JSON.stringify(name)}`);
  const log = await readLog(reader, id);
  if (log !== undefined) return log;
  throw new Failure("audit", "nothing of this log is sealed yet: a server does that as it runs");
}
