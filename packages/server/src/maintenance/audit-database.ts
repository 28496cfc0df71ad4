/**
 * Reads the audit log from the database, also beside a running server. With the secret key, it also
 * verifies the MACs of rows.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
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
import type { Reader, Store } from "../storage/store.ts";
import { openEither } from "./open-store.ts";

export interface AuditDatabase {
  readonly reader: Reader;
  /** Time of the database, epoch ms. */
  readonly now: number;
  /**
   * @param project its name; undefined for the log of the whole server
   * @throws Failure when the project does not exist, or has no sealed entries
   */
  log(project: string | undefined): Promise<StoredLog>;
}

/** @throws Failure when the database cannot be used, or has another schema than this program */
export async function withAuditDatabase<T>(
  settings: Pick<Settings, "database" | "dataDirectory">,
  secrets: SecretSettings,
  work: (database: AuditDatabase) => Promise<T>,
): Promise<T> {
  const { store, isNew, clock, close } = await openEither(settings, secrets, "beside");
  try {
    if (isNew) throw new Failure("audit", "the database is empty");
    assertMigrated(await readAnySchemaVersion(store), schemaOf(readMigrations()));
    await useRowKey(store, settings, secrets);
    const log = (project: string | undefined) => findLog(store, project);
    return await work({ reader: store, now: clock.now(), log });
  } finally {
    await close();
  }
}

/** @throws Failure when the secret key does not decrypt the row key */
async function useRowKey(
  store: Pick<Store, "integrity" | "get">,
  { dataDirectory }: Pick<Settings, "dataDirectory">,
  secrets: SecretSettings,
): Promise<void> {
  const row = await store.get("select encrypted_row_key from secret_key");
  const encrypted = row?.encrypted_row_key;
  const keyring = findKeyring(secrets, dataDirectory);
  if (typeof encrypted !== "string" || keyring === undefined) store.integrity.skipMacs();
  else store.integrity.useKey(decryptRowKey(keyring, encrypted));
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
