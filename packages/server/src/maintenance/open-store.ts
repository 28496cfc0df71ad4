/** Opens the configured database without a secret key or workers. */

import { existsSync } from "node:fs";
import { type Clock, systemClock, systemRandom } from "../clock.ts";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { databaseFile } from "../storage/sqlite/data-folder.ts";
import { lockDataDirectory } from "../storage/sqlite/data-lock.ts";
import { SqliteStore } from "../storage/sqlite/sqlite-store.ts";
import type { Store } from "../storage/store.ts";

export interface BareStore {
  readonly store: Store;
  /** True when the database has no schema yet. */
  readonly isNew: boolean;
  readonly clock: Clock;
  close(): Promise<void>;
}

/** @throws Failure when the database cannot be used */
export async function openShared(
  { database }: Pick<Settings, "database">,
  url: string,
): Promise<BareStore> {
  const { PostgresStore } = await import("../storage/postgres/postgres-store.ts");
  const store = await PostgresStore.open({ url, ...database, random: systemRandom() });
  return { store, isNew: store.isNew, clock: store.clock, close: () => store.close() };
}

/**
 * @param access `alone`: no server may run on it; `beside`: a server may run, read-only
 * @throws Failure when the database cannot be used, or a server runs and must not
 */
export async function openEither(
  settings: Pick<Settings, "database" | "dataDirectory">,
  { databaseUrl }: Pick<SecretSettings, "databaseUrl">,
  access: "alone" | "beside",
): Promise<BareStore> {
  if (databaseUrl !== undefined) return openShared(settings, databaseUrl);
  const { dataDirectory } = settings;
  const isExclusive = access === "alone";
  const unlock = isExclusive ? lockDataDirectory(dataDirectory).release : () => {};
  try {
    const file = databaseFile(dataDirectory);
    const isNew = !existsSync(file);
    const store = new SqliteStore(file, systemClock, { isExclusive });
    const close = () => store.close().finally(unlock);
    return { store, isNew, clock: systemClock, close };
  } catch (error) {
    unlock();
    throw error;
  }
}
