/** Checks that a PostgreSQL server fulfils the requirements of this store. */

import { DatabaseError } from "pg";
import type { Random } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { Reader } from "../store.ts";
import type { Connection, ConnectionSource } from "./connections.ts";

const VERSION_MIN = 150_000;

const SETTINGS = `select current_setting('server_version_num') as version,
  current_setting('server_encoding') as encoding,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('fsync') as fsync,
  current_setting('lock_timeout') as lock_timeout,
  current_setting('statement_timeout') as statement_timeout,
  current_setting('idle_in_transaction_session_timeout') as idle_in_transaction_session_timeout,
  cast(pg_is_in_recovery() as text) as is_standby`;

/** Set at the start of every connection, but poolers may drop them. With the documented values. */
const BOUNDS = {
  lock_timeout: "5s",
  statement_timeout: "10s",
  idle_in_transaction_session_timeout: "15s",
};

/**
 * @param acceptsLoss true accepts a server that loses acknowledged commits in a crash
 * @throws Failure with the fault and its fix
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
  for (const [name, value] of Object.entries(BOUNDS)) {
    if (settings[name] !== "0") continue;
    throw new Failure(
      "store",
      `${name} is 0: a pooler drops it, and one transaction that hangs would block all others. ` +
        `Set it on the role: alter role ... set ${name} = '${value}'`,
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

const ROUNDS = 3;

/** Its SQLSTATE: invalid_sql_statement_name. */
const NOT_PREPARED = "26000";

/**
 * Checks that a prepared statement exists in the next transaction. A pooler that uses any
 * connection for a transaction must prepare it again there; PgBouncer does so since 1.21. A
 * concurrent transaction holds the first connection, so the pooler must use another one.
 *
 * @throws Failure when the statement is missing
 */
export async function assertPreparedStatementsKept(
  connections: ConnectionSource,
  random: Random,
): Promise<void> {
  const one = await connections.take();
  const other = await connections.take().catch((error: unknown) => {
    one.release();
    throw error;
  });
  try {
    await executeAgain(one, other, random);
  } catch (error) {
    // Any other failure appears in the server's next query.
    if (!(error instanceof DatabaseError) || error.code !== NOT_PREPARED) return;
    throw new Failure(
      "store",
      "the pooler at database_url loses prepared statements between transactions. Use PgBouncer " +
        "1.21 or newer with max_prepared_statements = 256, or pool_mode = session",
    );
  } finally {
    for (const connection of [one, other]) connection.discard();
  }
}

async function executeAgain(one: Connection, other: Connection, random: Random): Promise<void> {
  // A unique name: another process's prepared statement with the same name would hide the fault.
  const id = Buffer.from(random.bytes(16)).toString("hex");
  const probe = `select $1::text as probe /* ${id} */`;
  await one.query("read", probe, ["prepared"]);
  for (let round = 1; round <= ROUNDS; round++) {
    await other.query("write", "begin");
    await one.query("read", probe, ["executed"]);
    await other.query("write", "rollback");
  }
}
