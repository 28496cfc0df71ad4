/**
 * Durable-execution engines that do the same: installed on demand into bench/peers, apart from
 * the workspace, in the versions of its lockfile. Each runs as its makers recommend for one
 * machine, with everything synced to disk, and is driven by the same clients.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, spawnTracked, startChild, stopChild } from "../children.ts";
import { type Answer, type Connection, openConnections } from "../connection.ts";
import { freePort } from "../free-port.ts";
import { argumentsDigest, postMessage, toolCall } from "../messages.ts";
import { monotonicMs } from "../monotonic.ts";
import type { Engine, RoundTripClient } from "../round-trip-client.ts";
import { reportProgress } from "../table.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import type { DatabaseServer } from "./database-server.ts";

const FOLDER = join(import.meta.dirname, "../peers");
const INSTALL_MS_MAX = 300_000;

/** @returns whether they are there now; says why when they are not */
export function installPeers(): boolean {
  if (areInstalled()) return true;
  reportProgress("postgres: installing Restate and DBOS into bench/peers (npm ci)");
  try {
    // Their install scripts do nothing that is needed here.
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", FOLDER];
    execFileSync("npm", args, { stdio: "pipe", timeout: INSTALL_MS_MAX });
    return true;
  } catch (error) {
    reportProgress(`postgres: SKIPPED: the peers cannot be installed: ${firstLine(error)}`);
    return false;
  }
}

/** @returns those that start; says why the others do not */
export async function startPeers(database: DatabaseServer): Promise<Engine[]> {
  const engines: Engine[] = [];
  for (const start of [startRestate, () => startDbos(database)]) {
    try {
      engines.push(...(await start()));
    } catch (error) {
      reportProgress(`postgres: SKIPPED: a peer does not start: ${firstLine(error)}`);
    }
  }
  return engines;
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n")[0] ?? "";
}

/** Whether they are there in the versions that the lockfile names. */
function areInstalled(): boolean {
  const installed = "node_modules/.package-lock.json";
  if (!existsSync(join(FOLDER, installed))) return false;
  const { dependencies } = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8"));
  return Object.keys(dependencies).every((name) => versionOf(name) === versionOf(name, installed));
}

function versionOf(name: string, lockfile = "package-lock.json"): string | undefined {
  const { packages } = JSON.parse(readFileSync(join(FOLDER, lockfile), "utf8"));
  return packages[`node_modules/${name}`]?.version;
}

/** One server, one service, and both ways to wait. */
async function startRestate(): Promise<Engine[]> {
  const environment = { RESTATE_LOGGING: "ERROR", NODE_ENV: "production" };
  const file = "peers/restate-service.js";
  const service = await startChild<{ port: number; sidePort: number }>({ file, environment });
  const folder = temporaryFolder();
  const ports = { ingress: await freePort(), admin: await freePort(), node: await freePort() };
  const server = spawnTracked([], "ignore", restateEnvironment(folder, ports), restateProgram());
  await untilServed(ports.admin, () => server.exitCode !== null);
  await register(ports.admin, service.ready.port);
  const stop = async () => {
    await stopChild(server, () => server.kill("SIGTERM"));
    await service.stop();
    removeFolder(folder);
  };
  const version = versionOf("@restatedev/restate-server");
  const { ingress } = ports;
  const used = () => cpuSeconds(service.pid) + cpuSeconds(server.pid ?? 0);
  return [
    {
      name: `Restate ${version}, awakeable`,
      openClient: () => openAwakeable(ingress, service.ready.sidePort),
      cpuSeconds: used,
      stop,
    },
    {
      name: `Restate ${version}, promise of a workflow`,
      openClient: () => openWorkflow(ingress),
      cpuSeconds: used,
      stop: async () => {},
    },
  ];
}

function restateProgram(): string {
  const require = createRequire(join(FOLDER, "package.json"));
  const name = `@restatedev/restate-server-${platform()}-${arch()}`;
  return require.resolve(`${name}/bin/restate-server`);
}

/** Its defaults, which sync its log, on addresses of its own. */
function restateEnvironment(
  folder: string,
  ports: Readonly<Record<"ingress" | "admin" | "node", number>>,
): NodeJS.ProcessEnv {
  return {
    ...process.env,
    RESTATE_BASE_DIR: folder,
    RESTATE_NODE_NAME: "bench",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: String(ports.node),
    RESTATE_INGRESS__BIND_PORT: String(ports.ingress),
    RESTATE_ADMIN__BIND_PORT: String(ports.admin),
    RESTATE_LOG_FILTER: "error",
    RESTATE_DISABLE_TELEMETRY: "true",
  };
}

const START_MS_MAX = 30_000;

async function untilServed(admin: number, hasEnded: () => boolean): Promise<void> {
  const endsAtMs = monotonicMs() + START_MS_MAX;
  for (;;) {
    try {
      if ((await fetch(`http://127.0.0.1:${admin}/health`)).ok) return;
    } catch {
      // The peer does not listen yet.
    }
    if (hasEnded()) throw new Error("restate-server ended before it was ready");
    if (monotonicMs() > endsAtMs) throw new Error("restate-server does not become ready");
    await sleep(100);
  }
}

async function register(admin: number, port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  });
  if (!response.ok) throw new Error(`Restate refused the service: ${await response.text()}`);
}

/** With as many connections as a provider has by default. */
const DBOS_CONNECTIONS = "20";

async function startDbos(database: DatabaseServer): Promise<Engine[]> {
  const args = [await database.createDatabase(), DBOS_CONNECTIONS];
  const service = await startChild<{ port: number }>({ file: "peers/dbos-service.js", args });
  const engine = {
    name: `DBOS ${versionOf("@dbos-inc/dbos-sdk")}, recv`,
    openClient: () => openDbos(service.ready.port),
    cpuSeconds: () => cpuSeconds(service.pid) + database.cpuSeconds(),
    stop: () => service.stop(),
  };
  return [engine];
}

let started = 0;

/** A key of no round trip before, its call, and its verdict. */
function nextTrip(): { key: string; call: string; verdict: string } {
  const n = started++;
  const key = `trip-${n}`;
  const call = `{"key":"${key}","call":${toolCall(n)}}`;
  const verdict = `{"status":"approved","arguments_sha256":"${argumentsDigest(n)}"}`;
  return { key, call, verdict };
}

/** The call is held until the verdict; its answer is what a long poll would return. */
function openAwakeable(ingress: number, side: number): Promise<RoundTripClient> {
  return openPair(
    ingress,
    async (client, reviewer) => {
      const { key, call, verdict } = nextTrip();
      const held = client.exchange(postMessage("/call/approve", call));
      const id = (await reviewer.side.exchange(getOf(key))).body.toString("latin1");
      const path = `/restate/awakeables/${id}/resolve`;
      const [ended, resolved] = await Promise.all([
        held,
        reviewer.main.exchange(postMessage(path, verdict)),
      ]);
      expectStatus(resolved, 202);
      expectApproved(ended);
    },
    side,
  );
}

function openWorkflow(ingress: number): Promise<RoundTripClient> {
  return openPair(ingress, async (client, { main }) => {
    const { key, call, verdict } = nextTrip();
    const path = `/approval/${key}`;
    expectStatus(await client.exchange(postMessage(`${path}/run/send`, call)), 202);
    const [ended, resolved] = await Promise.all([
      client.exchange(getOf(`restate/workflow${path}/attach`)),
      main.exchange(postMessage(`${path}/verdict`, verdict)),
    ]);
    expectStatus(resolved, 200);
    expectApproved(ended);
  });
}

function openDbos(port: number): Promise<RoundTripClient> {
  return openPair(port, async (client, { main }) => {
    const { key, call, verdict } = nextTrip();
    expectStatus(await client.exchange(postMessage(`/create/${key}`, call)), 200);
    const [ended, resolved] = await Promise.all([
      client.exchange(getOf(`result/${key}`)),
      main.exchange(postMessage(`/verdict/${key}`, verdict)),
    ]);
    expectStatus(resolved, 200);
    expectApproved(ended);
  });
}

interface Reviewer {
  readonly main: Connection;
  /** To the side door of a service, where there is one. */
  readonly side: Connection;
}

async function openPair(
  port: number,
  roundTrip: (client: Connection, reviewer: Reviewer) => Promise<void>,
  sidePort = port,
): Promise<RoundTripClient> {
  const [client, main] = await openConnections(port, 2);
  const [side] = await openConnections(sidePort, 1);
  if (client === undefined || main === undefined || side === undefined) {
    throw new Error("no connection");
  }
  return {
    roundTrip: () => roundTrip(client, { main, side }),
    close: () => {
      for (const connection of [client, main, side]) connection.close();
    },
  };
}

function getOf(path: string): string {
  return `GET /${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

function expectStatus({ status, body }: Answer, expected: number): void {
  if (status !== expected) throw new Error(`expected ${expected}, got ${status}: ${body}`);
}

function expectApproved(answer: Answer): void {
  expectStatus(answer, 200);
  if (!answer.body.includes('"approved"')) throw new Error(`not approved: ${answer.body}`);
}
