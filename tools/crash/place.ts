/**
 * Where the servers of a run live: a folder with SQLite and one server, or a PostgreSQL and two
 * replicas. Servers are real processes that are killed and started again; callers reach whichever
 * is up by one address that none of them listens on.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type createToken,
  openContext,
  readConfig,
  toSecrets,
  toSettings,
} from "@countersign/server";
import { makeToken } from "@countersign/testing/agents";
import { type Child, temporaryFolder } from "@countersign/testing/child";
import { NO_RATE_LIMITS, Server, spawnCountersign } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { createDatabase } from "../../packages/server/test/support/postgres.ts";
import type { Chance } from "../simulator/random.ts";
import { Disk } from "./disk.ts";

export type Engine = "sqlite" | "postgres";

export interface Lifetime {
  after(end: () => Promise<void>): void;
}

export type Store = Awaited<ReturnType<typeof openContext>>["context"]["store"];

/** No server listens there: {@link Place.fetch} replaces it. */
export const ANYWHERE = "http://127.0.0.1:9";

export interface Place {
  readonly replicas: number;
  /** Sends to a replica that is up. @throws TypeError when none is */
  readonly fetch: typeof fetch;
  token(kind: "provisioner" | "reviewer", name: string): Promise<string>;
  /** Starts the replica at this place. @throws AssertionError when it does not start */
  start(index: number): Promise<void>;
  /** Starts a replica and kills it after so many milliseconds, wherever it is by then. */
  killInStart(index: number, afterMs: number): Promise<void>;
  kill(index: number): Promise<void>;
  /** As an operator stops all of them. */
  stop(): Promise<void>;
  /** Reads the database beside the servers. */
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
  /** Runs `countersign audit verify`. @returns what it says when the log is wrong */
  verifyLog(): Promise<string | undefined>;
}

/** Of a machine on which hundreds of other processes want to run. */
const START_MS_MAX = 240_000;
const STARTED = /"event":"server\.started","address":"([^"]+)"/;

const ARGS = [
  "--log-level",
  "info",
  ...NO_RATE_LIMITS,
  "--webhook-host-in-flight-max",
  "16",
  "--webhook-address-in-flight-max",
  "16",
];

export async function openPlace(
  t: Lifetime,
  engine: Engine,
  certificate: string,
  chance: Chance,
  hasPowerCuts = false,
): Promise<Place> {
  const folder = temporaryFolder(t, "countersign-crash-");
  const disk = hasPowerCuts ? new Disk(folder) : undefined;
  const data = join(disk?.folder ?? folder, "data");
  const database = engine === "sqlite" ? {} : await databaseEnvironment();
  const trusted = join(folder, "receivers.pem");
  writeFileSync(trusted, certificate);
  const env = {
    ...database,
    NODE_EXTRA_CA_CERTS: trusted,
    COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
  };
  const replicas = engine === "sqlite" ? 1 : 2;
  const up = new Map<number, Server>();
  /** Each process has an owner of its own: what it printed goes with it. */
  const owned = { after: () => {} };
  const anyUp = (): Server => {
    const servers = [...up.values()];
    const server = servers[Math.floor(chance() * servers.length)];
    if (server === undefined) throw new TypeError("fetch failed", { cause: "no server is up" });
    return server;
  };
  t.after(async () => {
    for (const server of up.values()) await server.kill();
    disk?.unmount();
  });
  const words = ["serve", "--port", "0", "--data", data, "--json", ...ARGS];
  const launch = () => spawnCountersign({ ...owned }, words, { env });
  return {
    replicas,
    fetch: (async (input, init) => {
      const url = String(input).replace(ANYWHERE, anyUp().url);
      return fetch(url, init);
    }) as typeof fetch,
    ...outside(t, data, database),
    async start(index) {
      up.set(index, await startPatiently(launch(), data));
    },
    async killInStart(index, afterMs) {
      assert.ok(!up.has(index));
      const child = launch();
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      disk?.cut();
      const { code, stderr } = await child.end("SIGKILL");
      disk?.restore();
      assert.equal(code, null, `a start ended by itself: ${stderr}`);
    },
    async kill(index) {
      const server = up.get(index);
      assert.ok(server);
      up.delete(index);
      disk?.cut();
      const { code, stdout, stderr } = await server.process.end("SIGKILL");
      disk?.restore();
      const last = stdout.slice(-2_000);
      assert.equal(code, null, `a server ended by itself: ${last}\n${stderr}`);
    },
    async stop() {
      const servers = [...up.values()];
      up.clear();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** @throws AssertionError with what was printed, when it ends or does not listen */
async function startPatiently(child: Child, data: string): Promise<Server> {
  let hasEnded = false;
  void child.exited.then(() => {
    hasEnded = true;
  });
  const url = await eventually(
    "a server that listens, or has ended",
    () => STARTED.exec(child.stdout)?.[1] ?? (hasEnded ? "" : undefined),
    START_MS_MAX,
  );
  assert.notEqual(url, "", `a start ended by itself: ${child.stdout}\n${child.stderr}`);
  return new Server(url, data, child);
}

/** The actions of an operator beside the servers. */
function outside(
  t: Lifetime,
  data: string,
  env: Readonly<Record<string, string>>,
): Pick<Place, "token" | "withStore" | "verifyLog"> {
  return {
    token: (kind, name) => {
      type Order = Parameters<typeof createToken>[1];
      return makeToken(data, { kind, name } as Order, env);
    },
    async withStore(work) {
      const config = readConfig({ data }, env);
      const { context, close } = await openContext(toSettings(config), toSecrets(config));
      try {
        return await work(context.store);
      } finally {
        await close();
      }
    },
    async verifyLog() {
      const child = spawnCountersign(t, ["audit", "verify", "--data", data], { env });
      // However long it takes: after hundreds of cycles the log is long.
      await child.exited;
      const { code, stdout, stderr } = await child.ends();
      return code === 0 ? undefined : stdout + stderr;
    },
  };
}

async function databaseEnvironment(): Promise<Readonly<Record<string, string>>> {
  return {
    COUNTERSIGN_DATABASE_URL: await createDatabase(),
    COUNTERSIGN_SECRET_KEY: randomBytes(32).toString("base64"),
  };
}
