/**
 * Opens the database: for a server, for commands beside one, and for the rotation of the secret
 * key. Here the parts are made that all of them use.
 */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import type { SecretSettings, Settings } from "./config/settings.ts";
import type { Context } from "./context.ts";
import { NoDelivery } from "./delivery/no-delivery.ts";
import type { Resolver } from "./egress/resolve-host.ts";
import { ExaminerThread } from "./examiner/examiner-thread.ts";
import { Failure } from "./failure.ts";
import { NoNotifier } from "./notify/no-notifier.ts";
import { releaseLeases } from "./operations/deliveries/releaseLeases.ts";
import { adoptSecretKey } from "./operations/operate/adoptSecretKey.ts";
import type { Reencryption } from "./operations/operate/reencryptSecrets.ts";
import { PolicyCache } from "./policy/policy-cache.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { RecentlyUsed } from "./recently-used.ts";
import type { Report } from "./report.ts";
import { Keyring } from "./secrets/keyring.ts";
import { loadKeys, replaceKeyFile } from "./secrets/master-key.ts";
import { PasswordHasher } from "./secrets/password-hasher.ts";
import { migrate } from "./storage/migrate.ts";
import { type Migration, readMigrations, schemaOf } from "./storage/read-migrations.ts";
import {
  assertMigrated,
  NO_SCHEMA,
  readAnySchemaVersion,
  type SchemaVersion,
} from "./storage/schema-version.ts";
import type { CachedActiveState } from "./storage/sql/policy/active-state.ts";
import { ACTIVE_STATES_CACHED_MAX } from "./storage/sql/policy/active-state.ts";
import { databaseFile } from "./storage/sqlite/data-folder.ts";
import { lockDataDirectory } from "./storage/sqlite/data-lock.ts";
import { assertNotMoved } from "./storage/sqlite/moved-marker.ts";
import { SqliteStore } from "./storage/sqlite/sqlite-store.ts";
import type { Store } from "./storage/store.ts";
import { LocalWake } from "./wake/local-wake.ts";

/** What tests and simulations replace. */
export interface Parts {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly report?: Report;
  /** In place of DNS. */
  readonly resolver?: Resolver;
  /** Certificates to trust besides the usual ones, in PEM. */
  readonly ca?: readonly string[];
  /** Folder of the migrations, in place of those of this program. */
  readonly migrations?: string;
}

export interface OpenedContext {
  readonly context: Context;
  /** True when there was no database before. */
  readonly isNew: boolean;
  readonly schema: SchemaVersion;
  /** The schema that this program knows; the database may have a newer one. */
  readonly schemaKnown: number;
  /** What was done about a rotation of the secret key. */
  readonly reencryption: Reencryption;
  close(): Promise<void>;
}

export interface Rotation extends Reencryption {
  readonly keyId: string;
  readonly previousKeyIds: readonly string[];
}

/** How long a server lets a command beside it write, while its own event loop is blocked. */
const SERVER_BUSY_MS = 250;

/** What a process is to the data folder that it opens. */
type Role =
  /** Holds the lock; migrates, and finishes a rotation of the secret key. */
  | "server"
  /** Holds the lock; finishes a rotation, and leaves the schema to servers. */
  | "rotation"
  /** A server may be running. */
  | "beside"
  /** As `beside`, for a database that already exists. */
  | "visitor";

/**
 * Opens the data folder without serving it; also beside a running server.
 *
 * @throws Failure when the data cannot be used, or has another schema or secret key than this
 *   program
 */
export function openContext(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<OpenedContext> {
  return open(settings, secrets, parts, "beside");
}

/**
 * As openContext, and makes nothing: a mistyped name of a database is not to become one.
 *
 * @throws Failure also when there is no database, or none of this program in the PostgreSQL
 */
export function openKnownContext(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<OpenedContext> {
  const file = databaseFile(settings.dataDirectory);
  if (!isShared(secrets) && !existsSync(file))
    throw noDatabase(`in ${settings.dataDirectory}; ${NAME_DATA}`);
  return open(settings, secrets, parts, "visitor");
}

const NAME_DATA = "start a server first, or name its data folder with --data";

function noDatabase(where: string): Failure {
  return new Failure("no_database", `no database found ${where}`);
}

/**
 * Replaces the secret key in the data folder and seals everything with the new one. Ended
 * anywhere, the next start or the next rotation finishes it; until then both keys are needed
 * and there.
 *
 * @throws Failure when the key comes from the settings, a server is running, or the data cannot
 *   be used; then the key is the old one, or both are there
 */
export async function rotateSecretKey(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<Rotation> {
  if (secrets.secretKey !== undefined) {
    throw new Failure(
      "secret-key",
      "the secret key is set as secret_key and not read from a file; to rotate it, set a new " +
        "one as COUNTERSIGN_SECRET_KEY and the old one as COUNTERSIGN_SECRET_KEY_PREVIOUS, " +
        "restart the server, and then remove the old one",
    );
  }
  if (isShared(secrets)) {
    throw new Failure(
      "secret-key",
      "replicas of this database may be running, and all of them need both keys: " +
        "set the new one as COUNTERSIGN_SECRET_KEY and the old one as " +
        "COUNTERSIGN_SECRET_KEY_PREVIOUS on every replica, restart them, and remove the old one",
    );
  }
  const unlock = lockDataDirectory(settings.dataDirectory);
  try {
    // The key is only replaced where the old one decrypts what is stored.
    await (await open(settings, secrets, parts, "rotation")).close();
    replaceKeyFile(settings.dataDirectory);
    const opened = await open(settings, secrets, parts, "rotation");
    const { keyId, previousKeyIds } = opened.context.keyring;
    await opened.close();
    return { keyId, previousKeyIds, ...opened.reencryption };
  } finally {
    unlock();
  }
}

export async function open(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts,
  role: Role,
): Promise<OpenedContext> {
  const { random = systemRandom() } = parts;
  const isServer = role === "server";
  const { store, clock, isNew, keys } = isShared(secrets)
    ? await openShared(settings, secrets, parts)
    : openLocal(settings, secrets, parts, isServer);
  const keyring = new Keyring(
    keys.current.key,
    keys.previous.map(({ key }) => key),
  );
  const delivery = new NoDelivery(settings, clock);
  const notifier = new NoNotifier();
  const wake = new LocalWake();
  const policies = new PolicyCache();
  const activeStates = new RecentlyUsed<string, CachedActiveState>(ACTIVE_STATES_CACHED_MAX);
  const passwords = new PasswordHasher(random);
  const sending = { delivery, notifier };
  const examiners = { drafts: new ExaminerThread(clock), active: new ExaminerThread(clock) };
  const context = {
    store,
    clock,
    random,
    wake,
    keyring,
    passwords,
    settings,
    ...sending,
    submissions: new RateLimiter(settings.rates.accountSubmissions, clock),
    policies,
    examiners,
    activeStates,
    identityProvider: undefined,
  };
  const close = async () => {
    await Promise.all([examiners.drafts.close(), examiners.active.close()]);
    await store.close();
  };
  try {
    if (isNew && role === "visitor") {
      throw noDatabase(
        "at database_url: create it with countersign serve, migrate or tokens create",
      );
    }
    const migrations = readMigrations(parts.migrations);
    // No other process uses a new data folder yet.
    const mayMigrate = settings.database.migratesAtStart
      ? isServer || isNew
      : isNew && !isShared(secrets);
    const schema = await settleSchema(store, clock, migrations, { mayMigrate, isNew });
    const reencryption = await adoptSecretKey(context, isServer || role === "rotation");
    await releaseLeases(context);
    const schemaKnown = schemaOf(migrations);
    return { context, isNew, schema, schemaKnown, reencryption, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** @throws Failure when this program cannot use the database, and is not to migrate it */
async function settleSchema(
  store: Store,
  clock: Clock,
  migrations: readonly Migration[],
  { mayMigrate, isNew }: { readonly mayMigrate: boolean; readonly isNew: boolean },
): Promise<SchemaVersion> {
  if (mayMigrate) return migrate(store, migrations, clock);
  const schema = isNew ? NO_SCHEMA : await readAnySchemaVersion(store);
  assertMigrated(schema, schemaOf(migrations));
  return schema;
}

interface OpenedStore {
  readonly store: Store;
  /** What deadlines and leases are compared with; it agrees with `Transaction.now`. */
  readonly clock: Clock;
  /** True when there is no schema in it yet. */
  readonly isNew: boolean;
  readonly keys: ReturnType<typeof loadKeys>;
}

export type SharedSecrets = SecretSettings & { readonly databaseUrl: string };

/** Whether the database is one that other processes may serve as well. */
export function isShared(secrets: SecretSettings): secrets is SharedSecrets {
  return secrets.databaseUrl !== undefined;
}

/**
 * Made folder by folder: Node's `recursive` never returns where a parent is there and says that it
 * is not, as /proc does.
 *
 * @throws Failure when something else has its name, or it cannot be made there
 */
export function makeDataDirectory(dataDirectory: string): void {
  const path = resolve(dataDirectory);
  try {
    makeFolder(path);
  } catch (error) {
    const { code, path: at } = Object(error) as NodeJS.ErrnoException;
    const isOther = code === "EEXIST" && at === path;
    const fault = isOther ? "is not a folder" : "cannot be created";
    const cause = isOther ? undefined : error;
    throw new Failure("store", `the data folder ${dataDirectory} ${fault}`, cause);
  }
}

/** With those that it is in. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

function openLocal(
  { dataDirectory }: Settings,
  secrets: SecretSettings,
  { clock = systemClock }: Parts,
  isServer: boolean,
): OpenedStore {
  assertNotMoved(dataDirectory);
  makeDataDirectory(dataDirectory);
  const file = databaseFile(dataDirectory);
  const isNew = !existsSync(file);
  const keys = loadKeys(secrets, dataDirectory, isNew);
  const busyMs = isServer ? SERVER_BUSY_MS : undefined;
  const store = new SqliteStore(file, clock, { busyMs, isExclusive: isServer });
  return { store, clock, isNew, keys };
}

async function openShared(
  { dataDirectory, database }: Settings,
  secrets: SharedSecrets,
  { clock, random = systemRandom() }: Parts,
): Promise<OpenedStore> {
  // Never made here: the next replica would make another one.
  const keys = loadKeys(secrets, dataDirectory, false);
  // Costs a start time and memory that only those who use it should pay.
  const { PostgresStore } = await import("./storage/postgres/postgres-store.ts");
  const options = { url: secrets.databaseUrl, ...database, random, clock };
  const store = await PostgresStore.open(options);
  return { store, clock: store.clock, isNew: store.isNew, keys };
}
