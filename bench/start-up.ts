/**
 * From the spawn of `countersign serve` to its first successful answer to /readyz, and its
 * memory when idle.
 */

import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { residentMb, spawnTracked, stopChild } from "./children.ts";
import { Connection } from "./connection.ts";
import { freePort } from "./free-port.ts";
import { getMessage } from "./messages.ts";
import { monotonicMs } from "./monotonic.ts";
import { median } from "./statistics.ts";
import { reportProgress } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface StartUp {
  /** The very first start, before Node has cached the compiled code. */
  readonly coldMs: number;
  readonly coldIdleMb: number;
  /** Median of starts on an empty folder, which make the database and the key. */
  readonly firstStartMs: number;
  /** Median of starts on a folder that was served before. */
  readonly restartMs: number;
  /** Resident memory some seconds after a restart, without load. */
  readonly idleMb: number;
}

const STARTS = 7;
const IDLE_MS = 3_000;
const READY_MS_MAX = 20_000;
const ASK_EVERY_MS = 2;

const CLI = join(import.meta.dirname, "../packages/cli/bin/countersign.js");

export async function timeStarts(): Promise<StartUp> {
  const data = temporaryFolder();
  const codeCache = temporaryFolder();
  const start = (folder: string, idleMs = 0) => startOnce(folder, codeCache, idleMs);
  const cold = await start(data, IDLE_MS);
  const firstMs: number[] = [];
  const againMs: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    reportProgress(`start-up: ${i + 1} of ${STARTS}`);
    const fresh = temporaryFolder();
    firstMs.push((await start(fresh)).readyMs);
    againMs.push((await start(data)).readyMs);
    removeFolder(fresh);
  }
  const idle = await start(data, IDLE_MS);
  removeFolder(data);
  removeFolder(codeCache);
  return {
    coldMs: cold.readyMs,
    coldIdleMb: cold.residentMb,
    firstStartMs: median(firstMs),
    restartMs: median(againMs),
    idleMb: idle.residentMb,
  };
}

/** @param idleMs how long to leave it alone before its memory is read */
async function startOnce(
  folder: string,
  codeCache: string,
  idleMs: number,
): Promise<{ readyMs: number; residentMb: number }> {
  const port = await freePort();
  const args = [CLI, "serve", "--port", String(port), "--data", folder];
  const startedAtMs = monotonicMs();
  const server = spawnTracked(args, "ignore", { NODE_COMPILE_CACHE: codeCache });
  try {
    await untilReady(server, port, startedAtMs + READY_MS_MAX);
    const readyMs = monotonicMs() - startedAtMs;
    await sleep(idleMs);
    return { readyMs, residentMb: residentMb(server.pid ?? 0) };
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
