/**
 * Imports a SQLite database into an empty PostgreSQL database. It reads one snapshot, writes one
 * transaction, and compares the copy before the commit. After an interruption, the target is still
 * empty.
 */

import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type AuditKind, appendAudit } from "../audit/append-audit.ts";
import { systemRandom } from "../clock.ts";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { Failure } from "../failure.ts";
import { Keyring } from "../secrets/keyring.ts";
import { loadKeys } from "../secrets/master-key.ts";
import { decryptRowKey, type RowKey } from "../secrets/row-key.ts";
import { migrate } from "../storage/migrate.ts";
import { countRows, missingColumns } from "../storage/postgres/import-target.ts";
import { readMigrations, schemaOf } from "../storage/read-migrations.ts";
import { SERVER } from "../storage/sql/keys.ts";
import { FINGERPRINT_KEY } from "../storage/sql/operate/encrypted-columns.ts";
import { databaseFile } from "../storage/sqlite/data-folder.ts";
import { lockDataDirectory } from "../storage/sqlite/data-lock.ts";
import { ImportSource } from "../storage/sqlite/import-source.ts";
import { markMoved, markMoving, markOf, targetOf } from "../storage/sqlite/moved-marker.ts";
import type { Row, Transaction } from "../storage/store.ts";
import { type Content, digestOf, inForeignKeyOrder, type Table } from "../storage/table.ts";
import {
  assertSame,
  copy,
  type DamagedRow,
  type Examined,
  examine,
  type OnProgress,
} from "./copy-tables.ts";
import { type BareStore, openShared } from "./open-store.ts";

export interface ImportOptions {
  /** A data folder, or a database file such as a backup. */
  readonly from: string;
  /** Copy requests with a wrong checksum. Neither database can read them. */
  readonly acceptsDamaged: boolean;
  readonly onProgress: OnProgress;
}

export interface Imported {
  /** The target, without a password. */
  readonly target: string;
  readonly contents: readonly Content[];
  /** SHA-256 of all rows, in hex. */
  readonly digest: string;
  /** Id of the secret key that every replica needs. */
  readonly keyId: string;
  /** Copied requests with a wrong checksum. */
  readonly damaged: readonly DamagedRow[];
  /** True when an earlier, interrupted import had already committed. */
  readonly wasThere: boolean;
}

/**
 * @throws Failure when either database is unusable for an import, or the copy differs. The target
 * is then empty, unless the message says that its state is unknown
 */
export async function importDatabase(
  settings: Pick<Settings, "database" | "dataDirectory">,
  secrets: SecretSettings,
  options: ImportOptions,
): Promise<Imported> {
  const location = locationOf(options.from);
  const lock = location.folder === undefined ? undefined : lockDataDirectory(location.folder);
  try {
    assertNotMovedYet(location);
    const source = new ImportSource(location.file);
    try {
      const keys = assertReady(source, location, settings, secrets);
      const { keyId } = keys;
      return { ...(await move(source, location, settings, secrets, keys, options)), keyId };
    } finally {
      source.close();
    }
  } finally {
    lock?.release();
  }
}

interface SourceLocation {
  readonly file: string;
  /** The data folder of the file; undefined for a backup. */
  readonly folder: string | undefined;
}

/** @throws Failure when the database does not exist */
function locationOf(from: string): SourceLocation {
  const isFolder = statSync(from, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? databaseFile(from) : from;
  if (!existsSync(file)) throw refusal(`no database found at ${from}`);
  const isInFolder = basename(file) === basename(databaseFile(""));
  return { file, folder: isInFolder ? dirname(file) : undefined };
}

function assertNotMovedYet({ folder }: SourceLocation): void {
  if (folder === undefined || markOf(folder) !== "moved") return;
  throw refusal(
    `the database in ${folder} was already moved (${join(folder, "MOVED")} has its target); ` +
      "a second import would let two servers decide its requests",
  );
}

interface SourceKeys {
  /** Id of the secret key. */
  readonly keyId: string;
  /** Undefined when rows have no MACs yet. */
  readonly rowKey: RowKey | undefined;
}

function assertReady(
  source: ImportSource,
  location: SourceLocation,
  { dataDirectory }: Pick<Settings, "dataDirectory">,
  secrets: SecretSettings,
): SourceKeys {
  const has = source.tables.length === 0 ? undefined : readVersion(source);
  if (has === undefined) throw refusal(`${location.file} is not a Countersign database`);
  const known = schemaOf(readMigrations());
  if (has !== known) {
    const advice = has < known ? `run countersign migrate ${dataFlag(location)}first` : NEWER;
    throw refusal(`the database has schema ${has}, this program has ${known}: ${advice}`);
  }
  return assertKey(source, location, keyringOf(secrets, dataDirectory, location));
}

const NEWER = "use the countersign version that served it";

function dataFlag({ folder }: SourceLocation): string {
  return folder === undefined ? "on its data folder " : `--data ${folder} `;
}

function readVersion(source: ImportSource): number | undefined {
  const sql = "select name from sqlite_schema where name = 'schema_version'";
  if (source.get(sql) === undefined) return undefined;
  return Number(source.get("select version from schema_version")?.version);
}

function keyringOf(
  secrets: SecretSettings,
  dataDirectory: string,
  { folder }: SourceLocation,
): Keyring {
  const keyFile = join(dataDirectory, "secret.key");
  if (secrets.secretKey === undefined && !existsSync(keyFile)) {
    throw new Failure("secret-key", `no secret key is set: ${adviceOf(folder)}`);
  }
  const { current, previous } = loadKeys(secrets, dataDirectory, false);
  return new Keyring(
    current.key,
    previous.map(({ key }) => key),
  );
}

function adviceOf(folder: string | undefined): string {
  const file = folder === undefined ? undefined : join(folder, "secret.key");
  const content = file !== undefined && existsSync(file) ? `"$(cat ${file})"` : "that key";
  return (
    "the replicas need the key that encrypts the imported data; " +
    `export COUNTERSIGN_SECRET_KEY=${content}`
  );
}

/** @throws Failure unless replicas with these keys can use the imported data */
function assertKey(source: ImportSource, { folder }: SourceLocation, keyring: Keyring): SourceKeys {
  const columns = "key_id, encrypted_fingerprint_key, encrypted_row_key";
  const row = source.get(`select ${columns} from secret_key`);
  if (row === undefined)
    throw refusal("no server has served this database, so it has no data to import");
  const keyId = String(row.key_id);
  if (keyId !== keyring.keyId) {
    const isBetween = keyring.knows(keyId);
    const advice = isBetween ? "start its server once to finish the rotation" : adviceOf(folder);
    const message = `the database is encrypted with key ${keyId}, not with ${keyring.keyId}`;
    throw new Failure("secret-key", `${message}: ${advice}`);
  }
  const encrypted = row.encrypted_fingerprint_key;
  if (typeof encrypted === "string") keyring.decrypt(encrypted, FINGERPRINT_KEY.context);
  const rowKey = row.encrypted_row_key;
  return { keyId, rowKey: typeof rowKey === "string" ? decryptRowKey(keyring, rowKey) : undefined };
}

async function move(
  source: ImportSource,
  location: SourceLocation,
  settings: Pick<Settings, "database">,
  { databaseUrl }: SecretSettings,
  { rowKey }: SourceKeys,
  { acceptsDamaged, onProgress }: ImportOptions,
): Promise<Omit<Imported, "keyId">> {
  if (databaseUrl === undefined)
    throw refusal("database_url is required: set it to the PostgreSQL database to import into");
  const name = nameOf(databaseUrl);
  const isMoving = wasInterrupted(location, name);
  const target = await openShared(settings, databaseUrl);
  try {
    const tables = inForeignKeyOrder(source.tables);
    await prepare(target, tables, isMoving);
    const { integrity } = target.store;
    if (rowKey === undefined) throw refusal("its rows have no MACs yet: start its server once");
    integrity.useKey(rowKey);
    const examined = examine(source, tables, integrity, onProgress);
    assertCopyable(examined, acceptsDamaged);
    // Replicas that start meanwhile wait for the end of this, so none serves a partial import.
    const wasThere = await target.store.transactExclusive(async (tx) => {
      const isThere = (await contentsOf(tx, tables)).length > 0;
      if (!isThere) await copy(tx, source, tables, onProgress);
      else if (!isMoving) await assertEmpty(tx, tables);
      await assertSame(tx, tables, examined, isAdded, onProgress);
      if (!isThere) await appendImportEntry(tx, examined);
      // From here until the commit is confirmed, the location of the data is unknown.
      if (location.folder !== undefined) markMoving(location.folder, name);
      return isThere;
    });
    if (location.folder !== undefined) markMoved(location.folder);
    const { contents, damaged } = examined;
    return { target: name, contents, digest: digestOf(contents), damaged, wasThere };
  } finally {
    await target.close();
  }
}

const IMPORTED: AuditKind = "database.imported";

/** Written to the imported log only, because the source is read-only. */
async function appendImportEntry(tx: Transaction, { contents, damaged }: Examined): Promise<void> {
  const rows = contents.reduce((sum, content) => sum + content.rows, 0);
  await appendAudit(tx, systemRandom(), {
    at: await tx.now(),
    projectId: SERVER,
    kind: IMPORTED,
    actor: "operator:cli",
    subject: "server:",
    detail: { rows, sha256: digestOf(contents), damaged: damaged.length },
  });
}

function isAdded({ name }: Table, row: Row): boolean {
  return name === "audit_entry" && row.kind === IMPORTED;
}

/**
 * True when an interrupted import into this target may have been committed.
 *
 * @throws Failure when it had another target
 */
function wasInterrupted({ folder }: SourceLocation, target: string): boolean {
  if (folder === undefined || markOf(folder) !== "moving") return false;
  const earlier = targetOf(folder);
  if (earlier === target) return true;
  throw refusal(
    `an import of ${folder} into ${earlier} was interrupted and may be complete: repeat that ` +
      `import, or remove ${join(folder, "MOVING")} if the target is empty`,
  );
}

/** Creates the tables of the target. */
async function prepare(
  { store, clock }: BareStore,
  tables: readonly Table[],
  isMoving: boolean,
): Promise<void> {
  const migrations = readMigrations();
  const { version } = await migrate(store, migrations, clock);
  if (version !== schemaOf(migrations)) {
    throw refusal(`the database at database_url has schema ${version} already: ${NEWER}`);
  }
  await store.transact(async (tx) => {
    const missing = await missingColumns(tx, tables);
    if (missing.length > 0) throw new Error(`the target has no ${missing.join(", ")}`);
    if (!isMoving) await assertEmpty(tx, tables);
  });
}

async function assertEmpty(tx: Transaction, tables: readonly Table[]): Promise<void> {
  const contents = await contentsOf(tx, tables);
  if (contents.length === 0) return;
  throw refusal(
    `the database at database_url is not empty (${contents.join(", ")}): ` +
      "use a new database on which no server has started",
  );
}

/** The contents of the target, like `request: 12 rows`. */
async function contentsOf(tx: Transaction, tables: readonly Table[]): Promise<string[]> {
  const contents: string[] = [];
  for (const table of tables) {
    const rows = await countRows(tx, table);
    if (rows > 0) contents.push(`${table.name}: ${rows} row${rows === 1 ? "" : "s"}`);
  }
  return contents;
}

const SHOWN_MAX = 20;

function assertCopyable({ damaged }: Examined, acceptsDamaged: boolean): void {
  const refused = acceptsDamaged ? damaged.filter(({ canBeCopied }) => !canBeCopied) : damaged;
  if (refused.length === 0) return;
  const shown = refused.slice(0, SHOWN_MAX);
  const lines = shown.map(({ table, key, reason }) => `  ${table} ${key.join(" ")}: ${reason}`);
  const more = refused.length - shown.length;
  if (more > 0) lines.push(`  and ${more} more`);
  const advice = refused.every(({ canBeCopied }) => canBeCopied)
    ? "restore a backup, or copy them unchanged with --accept-damaged: they stay unreadable"
    : "PostgreSQL cannot store them; restore a backup";
  throw refusal([`rows are damaged (${refused.length}); ${advice}`, ...lines].join("\n"));
}

/** The URL without secrets. */
function nameOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  // The address can also be in query parameters.
  const where = ["host", "port", "options"].flatMap((name) => {
    const value = searchParams.get(name);
    return value === null ? [] : [`${name}=${value}`];
  });
  const query = where.length === 0 ? "" : `?${where.join("&")}`;
  return `postgres://${host}${pathname}${query}`;
}

function refusal(message: string): Failure {
  return new Failure("import", message);
}
