/**
 * From the spawn of `countersign serve` to its first successful answer to /readyz, and what it
 * uses when idle.
 */

import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI, cpuSeconds, residentMb, spawnTracked, stopChild, wakeUps } from "./children.ts";
import { Connection } from "./connection.ts";
import { freePort } from "./free-port.ts";
import { getMessage } from "./messages.ts";
import { monotonicMs } from "./monotonic.ts";
import { median } from "./statistics.ts";
import { reportProgress } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface StartUp {
  /** False for the sources of the repository. */
  readonly isInstalled: boolean;
  /** The very first start, before Node has cached the compiled code. */
  readonly coldMs: number;
  readonly coldIdleMb: number;
  /** Median of starts on an empty folder, which make the database and the key. */
  readonly firstStartMs: number;
  /** Starts on a folder that was served before. */
  readonly restartsMs: readonly number[];
  /** Resident memory some seconds after a restart, without load. */
  readonly idleMb: number;
  /** Of one processor, during the same seconds. */
  readonly idleCpuPercent: number;
  /** Of all threads, during the same seconds. */
  readonly idleWakeUpsPerSecond: number;
}

type Idle = Pick<StartUp, "idleMb" | "idleCpuPercent" | "idleWakeUpsPerSecond">;

const STARTS = 7;
/** After these, work of the start has ended. */
const SETTLE_MS = 3_000;
const IDLE_MS = 20_000;
const READY_MS_MAX = 20_000;
const ASK_EVERY_MS = 2;

/** @param installed a project with the package `countersign`; undefined: the repository */
export async function timeStarts(installed: string | undefined): Promise<StartUp> {
  const cli =
    installed === undefined ? CLI : join(installed, "node_modules/countersign/bin/countersign.js");
  const data = temporaryFolder();
  const codeCache = temporaryFolder();
  const start = (folder: string) => startOnce(cli, folder, codeCache, async () => undefined);
  const cold = await startOnce(cli, data, codeCache, async (pid) => {
    await sleep(SETTLE_MS);
    return residentMb(pid);
  });
  const firstMs: number[] = [];
  const againMs: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    reportProgress(`start-up: ${i + 1} of ${STARTS}`);
    const fresh = temporaryFolder();
    firstMs.push((await start(fresh)).readyMs);
    againMs.push((await start(data)).readyMs);
    removeFolder(fresh);
  }
  const idle = await startOnce(cli, data, codeCache, measureIdle);
  removeFolder(data);
  removeFolder(codeCache);
  return {
    isInstalled: installed !== undefined,
    coldMs: cold.readyMs,
    coldIdleMb: cold.measured,
    firstStartMs: median(firstMs),
    restartsMs: againMs,
    ...idle.measured,
  };
}

async function measureIdle(pid: number): Promise<Idle> {
  await sleep(SETTLE_MS);
  const [cpuBefore, wakeUpsBefore, startedAtMs] = [cpuSeconds(pid), wakeUps(pid), monotonicMs()];
  await sleep(IDLE_MS);
  const seconds = (monotonicMs() - startedAtMs) / 1000;
  return {
    idleMb: residentMb(pid),
    idleCpuPercent: ((cpuSeconds(pid) - cpuBefore) / seconds) * 100,
    idleWakeUpsPerSecond: (wakeUps(pid) - wakeUpsBefore) / seconds,
  };
}

/** @param measure called when the server is ready */
async function startOnce<T>(
  cli: string,
  folder: string,
  codeCache: string,
  measure: (pid: number) => Promise<T>,
): Promise<{ readonly readyMs: number; readonly measured: T }> {
  const port = await freePort();
  const args = [cli, "serve", "--port", String(port), "--data", folder];
  const startedAtMs = monotonicMs();
  const server = spawnTracked(args, "ignore", { NODE_COMPILE_CACHE: codeCache });
  try {
    await untilReady(server, port, startedAtMs + READY_MS_MAX);
    const readyMs = monotonicMs() - startedAtMs;
    return { readyMs, measured: await measure(server.pid ?? 0) };
  } finally {
    await stopChild(server, () => server.kill("SIGTERM"));
  }
}

async function untilReady(server: ChildProcess, port: number, endsAtMs: number): Promise<void> {
  while (!(await isReady(port))) {
    if (server.exitCode !== null) throw new Error("countersign serve ended before it was ready");
    if (monotonicMs() > endsAtMs) throw new Error("countersign serve does not become ready");
    await sleep(ASK_EVERY_MS);
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const connection = await Connection.open(port);
    const { status } = await connection.exchange(getMessage("/readyz"));
    connection.close();
    return status === 200;
  } catch {
    // The server does not listen yet.
    return false;
  }
}
