/**
 * Whether a PostgreSQL server keeps the promises that are made on top of it.
 *
 * Called by: postgres-store.ts, before anything else.
 */

import { Failure } from "../../failure.ts";
import type { Reader } from "../store.ts";

const VERSION_MIN = 150_000;

const SETTINGS = `select current_setting('server_version_num') as version,
  current_setting('server_encoding') as encoding,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('fsync') as fsync,
  current_setting('lock_timeout') as lock_timeout,
  current_setting('statement_timeout') as statement_timeout,
  current_setting('idle_in_transaction_session_timeout') as idle_in_transaction_session_timeout,
  cast(pg_is_in_recovery() as text) as is_standby`;

/** Asked for at the start of every connection; poolers may leave them out. */
const BOUNDS = [
  "lock_timeout",
  "statement_timeout",
  "idle_in_transaction_session_timeout",
] as const;

/**
 * @param acceptsLoss whether a server will do that loses acknowledged commits in a crash
 * @throws Failure that says what is wrong and what to do
 */
export async function assertUsable(reader: Reader, acceptsLoss: boolean): Promise<void> {
  const settings = (await reader.get(SETTINGS)) ?? {};
  if (Number(settings.version) < VERSION_MIN) {
    throw new Failure("store", `PostgreSQL 15 or newer is needed, this is ${settings.version}`);
  }
  if (settings.encoding !== "UTF8") {
    throw new Failure("store", `the encoding must be UTF8, this is ${settings.encoding}`);
  }
  if (settings.is_standby === "true") {
    throw new Failure("store", "this server is a standby; name the primary");
  }
  for (const name of BOUNDS) {
    if (settings[name] !== "0") continue;
    throw new Failure(
      "store",
      `${name} does not arrive at the database, and without it one who hangs holds up all: ` +
        `a pooler leaves it out; set it on the role: alter role ... set ${name} = '10s'`,
    );
  }
  if (acceptsLoss) return;
  for (const name of ["synchronous_commit", "fsync"] as const) {
    if (settings[name] !== "off") continue;
    throw new Failure(
      "store",
      `${name} is off, and a crash would lose decisions that were answered: switch it on, or set ` +
        "database_accept_loss",
    );
  }
}
