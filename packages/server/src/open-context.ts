/**
 * Opens the database for a server, for commands beside a server, and for the rotation of the secret
 * key.
 */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import type { SecretSettings, Settings } from "./config/settings.ts";
import type { Context } from "./context.ts";
import { NoDelivery } from "./delivery/no-delivery.ts";
import { NO_OUTBOUND } from "./egress/outbound.ts";
import type { Resolver } from "./egress/resolve-host.ts";
import { ExaminerThread } from "./examiner/examiner-thread.ts";
import { Failure } from "./failure.ts";
import { NoNotifier } from "./notify/no-notifier.ts";
import { releaseLeases } from "./operations/deliveries/releaseLeases.ts";
import { adoptSecretKey } from "./operations/operate/adoptSecretKey.ts";
import type { Reencryption } from "./operations/operate/reencryptSecrets.ts";
import { CLAIM_MS } from "./operations/requests/claimRequest.ts";
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

/** Parts that tests and simulations replace. */
export interface Parts {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly report?: Report | undefined;
  /** Replaces DNS. */
  readonly resolver?: Resolver;
  /** Additional trusted certificates, in PEM. */
  readonly ca?: readonly string[];
  /** Folder of migrations; replaces the program's own. */
  readonly migrations?: string;
}

export interface OpenedContext {
  readonly context: Context;
  /** True when the database did not exist before. */
  readonly isNew: boolean;
  readonly schema: SchemaVersion;
  /** The schema of this program. The database may have a newer one. */
  readonly schemaKnown: number;
  /** Counts of the secrets that the start reencrypted. */
  readonly reencryption: Reencryption;
  close(): Promise<void>;
}

export interface Rotation extends Reencryption {
  readonly keyId: string;
  readonly previousKeyIds: readonly string[];
}

/**
 * How long a server waits for a command beside it that writes. The event loop is blocked meanwhile.
 */
const SERVER_BUSY_MS = 250;

/** How a process uses the data folder. */
type Role =
  /** Holds the lock, migrates, and completes a rotation of the secret key. */
  | "server"
  /** Holds the lock and completes a rotation. Does not migrate. */
  | "rotation"
  /** A server may be running. */
  | "beside"
  /** As `beside`, for a database that already exists. */
  | "visitor";

/**
 * Opens the data folder without serving it. A server may be running.
 *
 * @throws Failure when the data cannot be used, or has another schema or secret key than this
 * program
 */
export function openContext(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<OpenedContext> {
  return open(settings, secrets, parts, "beside");
}

/**
 * As {@link openContext}, but creates nothing, because the name of the database may be misspelled.
 *
 * @throws Failure also when the database does not exist or has no schema
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

const NAME_DATA = "start a server first, or set its data folder with --data";

function noDatabase(where: string): Failure {
  return new Failure("no_database", `no database found ${where}`);
}

/**
 * Replaces the secret key in the data folder and reencrypts all secrets. After an interruption, the
 * next start or rotation completes it. Until then both keys are needed, and both files exist.
 *
 * @throws Failure when the key is a setting, when a server is running, or when the data cannot be
 * used; the folder then has the old key or both
 */
export async function rotateSecretKey(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<Rotation> {
  if (secrets.secretKey !== undefined) {
    throw new Failure(
      "secret-key",
      "the secret key is the setting secret_key, not a file; to rotate it, set a new " +
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
  const lock = lockDataDirectory(settings.dataDirectory);
  try {
    // Replaces the key only after the old one has decrypted the stored secrets.
    await (await open(settings, secrets, parts, "rotation")).close();
    replaceKeyFile(settings.dataDirectory);
    const opened = await open(settings, secrets, parts, "rotation");
    const { keyId, previousKeyIds } = opened.context.keyring;
    await opened.close();
    return { keyId, previousKeyIds, ...opened.reencryption };
  } finally {
    lock.release();
  }
}

/** For each user: enough to decide quickly, too few to guess a code. */
const CHAT_EVENTS = { perSecond: 1 / 6, burst: 20 };

/** One in the time of a claim. */
const HAND_OVER_NOTICES = { perSecond: 1000 / CLAIM_MS, burst: 1 };

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
  const sending = { delivery, notifier, outbound: NO_OUTBOUND, auditSinks: [] };
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
    chatEvents: new RateLimiter(CHAT_EVENTS.perSecond, clock, CHAT_EVENTS.burst),
    handOverNotices: new RateLimiter(HAND_OVER_NOTICES.perSecond, clock, HAND_OVER_NOTICES.burst),
    policies,
    examiners,
    activeStates,
    identityProvider: undefined,
    onLastAdminLost: () => {},
    workloadTokens: undefined,
    tracing: undefined,
  };
  const close = async () => {
    await Promise.all([examiners.drafts.close(), examiners.active.close()]);
    await store.close();
  };
  try {
    if (isNew && role === "visitor") {
      throw noDatabase(
        "at database_url; create it with countersign serve, migrate or tokens create",
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

/** @throws Failure when this program cannot use the schema and must not migrate it */
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
  /** The clock for deadlines and leases. It agrees with `Transaction.now`. */
  readonly clock: Clock;
  /** True when the database has no schema yet. */
  readonly isNew: boolean;
  readonly keys: ReturnType<typeof loadKeys>;
}

export type SharedSecrets = SecretSettings & { readonly databaseUrl: string };

/** True when other processes may serve the same database. */
export function isShared(secrets: SecretSettings): secrets is SharedSecrets {
  return secrets.databaseUrl !== undefined;
}

/**
 * Creates the folder and its parents one by one. With `recursive`, Node never returns when a parent
 * exists and reports that it does not, as in /proc.
 *
 * @throws Failure when the path is not a folder, or cannot be created
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

/** Creates missing parents too. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it in the meantime.
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
  // Never created here: the next replica would create another key.
  const keys = loadKeys(secrets, dataDirectory, false);
  // Loaded on demand, to save start time and memory for servers on SQLite.
  const { PostgresStore } = await import("./storage/postgres/postgres-store.ts");
  const options = { url: secrets.databaseUrl, ...database, random, clock };
  const store = await PostgresStore.open(options);
  return { store, clock: store.clock, isNew: store.isNew, keys };
}
