/**
 * Reads the audit log from the database, also beside a running server. With the secret key, it also
 * verifies the MACs of rows.
 */

import { constants, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { Failure } from "../failure.ts";
import { Keyring } from "../secrets/keyring.ts";
import { loadKeys } from "../secrets/master-key.ts";
import { decryptRowKey } from "../secrets/row-key.ts";
import { readMigrations, schemaOf } from "../storage/read-migrations.ts";
import { assertMigrated, readAnySchemaVersion } from "../storage/schema-version.ts";
import { readProjects } from "../storage/sql/access/holders.ts";
import { readLog, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../storage/sql/keys.ts";
import { databaseFile } from "../storage/sqlite/data-folder.ts";
import type { Reader, Store } from "../storage/store.ts";
import { openEither } from "./open-store.ts";

export interface AuditDatabase {
  readonly reader: Reader;
  /** Undefined without the secret key: then nothing can be written. */
  readonly writer?: Store | undefined;
  /** The clock of the database. */
  readonly clock: Pick<Clock, "now">;
  /**
   * @param project its name; undefined for the log of the whole server
   * @throws Failure when the project does not exist, or has no sealed entries
   */
  log(project: string | undefined): Promise<StoredLog>;
}

type DatabaseSettings = Pick<Settings, "database" | "dataDirectory">;

type Work<T> = (database: AuditDatabase) => Promise<T>;

/** @throws Failure when the database cannot be used, or has another schema than this program */
export async function withAuditDatabase<T>(
  settings: DatabaseSettings,
  secrets: SecretSettings,
  work: Work<T>,
): Promise<T> {
  return withKeys(settings, secrets, findKeyring(secrets, settings.dataDirectory), work);
}

/**
 * Restores a copy of `countersign backup` in a temporary folder beside it, with the secret key of
 * the settings, and reads the restored database. The copy itself stays unchanged.
 *
 * @throws Failure when there is no secret key, the disk is full, or the database cannot be used
 */
export async function withBackup<T>(
  file: string,
  settings: DatabaseSettings,
  secrets: SecretSettings,
  work: Work<T>,
): Promise<T> {
  const keyring = findKeyring(secrets, settings.dataDirectory);
  if (keyring === undefined) {
    const message = `the secret key is missing in ${settings.dataDirectory}; the backup needs it`;
    throw new Failure("audit", message);
  }
  const folder = makeFolderBeside(file);
  try {
    copyFileSync(file, databaseFile(folder), constants.COPYFILE_FICLONE);
    const restored = { ...settings, dataDirectory: folder };
    return await withKeys(restored, { ...secrets, databaseUrl: undefined }, keyring, work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Only the owner can read it. */
function makeFolderBeside(file: string): string {
  try {
    return mkdtempSync(`${file}.restored-`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("audit", `cannot restore the backup beside it: ${reason}`, error);
  }
}

async function withKeys<T>(
  settings: DatabaseSettings,
  secrets: SecretSettings,
  keyring: Keyring | undefined,
  work: Work<T>,
): Promise<T> {
  const { store, isNew, clock, close } = await openEither(settings, secrets, "beside");
  try {
    if (isNew) throw new Failure("audit", "the database is empty");
    assertMigrated(await readAnySchemaVersion(store), schemaOf(readMigrations()));
    const writer = (await useRowKey(store, keyring)) ? store : undefined;
    const log = (project: string | undefined) => findLog(store, project);
    return await work({ reader: store, writer, clock, log });
  } finally {
    await close();
  }
}

/**
 * @returns false without the secret key
 * @throws Failure when the secret key does not decrypt the row key
 */
async function useRowKey(
  store: Pick<Store, "integrity" | "get">,
  keyring: Keyring | undefined,
): Promise<boolean> {
  const row = await store.get("select encrypted_row_key from secret_key");
  const encrypted = row?.encrypted_row_key;
  if (typeof encrypted !== "string" || keyring === undefined) {
    store.integrity.skipMacs();
    return false;
  }
  store.integrity.useKey(decryptRowKey(keyring, encrypted));
  return true;
}

function findKeyring(secrets: SecretSettings, dataDirectory: string): Keyring | undefined {
  const isHere = existsSync(join(dataDirectory, "secret.key"));
  if (secrets.secretKey === undefined && !isHere) return undefined;
  const { current, previous } = loadKeys(secrets, dataDirectory, false);
  return new Keyring(
    current.key,
    previous.map(({ key }) => key),
  );
}

async function findLog(reader: Reader, name: string | undefined): Promise<StoredLog> {
  const id = name === undefined ? SERVER : (await readProjects(reader, name))[0]?.id;
  if (id === undefined) throw new Failure("audit", `unknown project ${JSON.stringify(name)}`);
  const log = await readLog(reader, id);
  if (log !== undefined) return log;
  throw new Failure("audit", "this log has no sealed entries; start a server, which seals them");
}
