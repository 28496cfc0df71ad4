/**
 * A PostgreSQL server for the benchmark, from the package that the tests use: its data on the
 * disk of TMPDIR, synced as in production, and set up as a server of its own would be.
 */

import { readdirSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { Client } from "pg";
import {
  createDatabase,
  execute,
  startPostgres,
} from "../../packages/server/test/support/postgres.ts";
import { cpuSeconds } from "../children.ts";

export interface DatabaseServer {
  readonly version: string;
  /** Its settings that are not the default, for the reader of the figures. */
  readonly settings: readonly string[];
  /** @returns the URL of a new, empty database */
  createDatabase(): Promise<string>;
  /** Processor seconds that all its processes have used. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

export async function startDatabaseServer(): Promise<DatabaseServer> {
  // A quarter of the memory is PostgreSQL's own advice; nothing here needs more than 2 GB.
  const buffersMb = Math.min(2_048, Math.floor(totalmem() / 4 / 2 ** 20));
  const settings = [
    `shared_buffers = ${buffersMb}MB`,
    "max_connections = 200",
    "max_wal_size = 8GB",
    "checkpoint_timeout = 15min",
  ];
  const server = await startPostgres({ onDisk: true, settings });
  const { version, postmaster } = await askServer(server.url);
  return {
    version,
    settings,
    createDatabase: () => createDatabase(server),
    cpuSeconds: () => cpuSecondsOf(postmaster),
    stop: () => server.stop(),
  };
}

/** Statistics as they would be after a while, and nothing left to write from before. */
export async function settle(url: string): Promise<void> {
  await execute(url, "vacuum analyze", "checkpoint");
}

async function askServer(url: string): Promise<{ version: string; postmaster: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const sql = "select current_setting('server_version') as version, pg_backend_pid() as pid";
  const { version, pid } = (await client.query(sql)).rows[0];
  const postmaster = parentOf(pid);
  await client.end();
  if (postmaster === undefined) throw new Error("the server runs on another machine");
  return { version, postmaster };
}

/** Its backends and workers, those that have ended included. */
function cpuSecondsOf(postmaster: number): number {
  const children = readdirSync("/proc")
    .map(Number)
    .filter((pid) => parentOf(pid) === postmaster);
  const running = [postmaster, ...children].map((pid) => cpuSecondsIfAny(pid));
  return running.reduce((sum, seconds) => sum + seconds, 0);
}

function cpuSecondsIfAny(pid: number): number {
  try {
    return cpuSeconds(pid, "with those that ended");
  } catch {
    // It has ended since it was listed.
    return 0;
  }
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
