/**
 * Requests at a fixed rate, whether or not the server has answered earlier ones. A time counts from
 * when a request was due, so a stall counts for each request that was due during it.
 */

import type { ChildProcess, StdioOptions } from "node:child_process";
import { join } from "node:path";
import { CLI, spawnTracked, stopChild } from "./children.ts";
import type { Answer, Connection } from "./connection.ts";
import { growStore } from "./growth.ts";
import { createMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { percentile } from "./statistics.ts";
import { type ServedSubject, type Subject, startSubject } from "./subject.ts";
import { ms, perSecond, reportProgress, table } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface OpenLoop {
  readonly perSecond: number;
  /** Decided requests in the store at the start. */
  readonly stored: number;
  /** Complete backups of the database meanwhile; undefined: none was running. */
  readonly backups?: number;
  /** Of each round. */
  readonly p999MsOfRounds: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The longest iteration of the server's event loop. */
  readonly loopMaxMs: number;
}

const RATES = [300, 1_000];
/** Of the runs with stored requests. */
const GROWN_RATE = 300;
const WARM_UP_S = 5;

/** Creations that a policy of 200 rules approves, on a new SQLite database for each rate. */
export async function measureOpenLoop(options: Options): Promise<OpenLoop[]> {
  const { connections } = options;
  const policy = policyOfManyRules();
  const start = () => startSubject({ connections, policy });
  const results = await measureRates(RATES, start, options);
  if (options.stored !== undefined) {
    results.push(...(await measureGrown(options.stored, options)));
  }
  return results;
}

/** @param start a server with an empty database */
export async function measureRates(
  rates: readonly number[],
  start: () => Promise<ServedSubject>,
  options: Options,
): Promise<OpenLoop[]> {
  const results: OpenLoop[] = [];
  for (const rate of rates) {
    const subject = await start();
    try {
      reportProgress(`open-loop: ${perSecond(rate)} per second`);
      results.push({ stored: 0, ...(await measureRate(subject, rate, options)) });
    } finally {
      await subject.stop();
    }
  }
  return results;
}

/** The same on a database with many decided requests, first alone and then during backups. */
async function measureGrown(stored: number, options: Options): Promise<OpenLoop[]> {
  const { connections } = options;
  const folder = temporaryFolder();
  await growStore(folder, stored);
  const policy = policyOfManyRules();
  const subject = await startSubject({ connections, folder, firstNumber: 1, policy });
  try {
    reportProgress(`open-loop: ${GROWN_RATE} per second with stored requests`);
    const alone = await measureRate(subject, GROWN_RATE, options);
    reportProgress(`open-loop: ${GROWN_RATE} per second with stored requests, during backups`);
    const backups = startBackups(folder);
    const beside = await measureRate(subject, GROWN_RATE, options);
    return [
      { stored, ...alone },
      { stored, backups: await backups.stop(), ...beside },
    ];
  } finally {
    await subject.stop();
    removeFolder(folder);
  }
}

interface Backups {
  /**
   * @returns how many were complete
   * @throws Error when one failed
   */
  stop(): Promise<number>;
}

/** Backups of a served database, one after another. */
function startBackups(folder: string): Backups {
  let made = 0;
  let failure: Error | undefined;
  let isStopped = false;
  let child = start();

  function start(): ChildProcess {
    // Removed at the end: the deletion of a large file would be measured too.
    const copy = join(folder, `copy-${made}.db`);
    // Without the environment, because it can name a database with data of the developer.
    const stdio: StdioOptions = ["ignore", "ignore", "inherit"];
    const backup = spawnTracked([CLI, "backup", copy, "--data", folder], stdio, {});
    backup.once("exit", (code) => {
      if (isStopped) return;
      if (code === 0) {
        made++;
        child = start();
      } else {
        failure = new Error(`the backup ended with ${code}`);
      }
    });
    return backup;
  }

  return {
    async stop() {
      isStopped = true;
      await stopChild(child, () => child.kill("SIGTERM"));
      if (failure !== undefined) throw failure;
      return made;
    },
  };
}

async function measureRate(
  subject: ServedSubject,
  rate: number,
  { rounds, seconds }: Options,
): Promise<Omit<OpenLoop, "stored">> {
  await send(subject, rate, WARM_UP_S);
  await subject.watchLoop();
  const latenciesMs: number[] = [];
  const p999MsOfRounds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const ofRound = await send(subject, rate, seconds);
    p999MsOfRounds.push(percentile(ofRound, 99.9));
    for (const latency of ofRound) latenciesMs.push(latency);
  }
  return {
    perSecond: rate,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    p999Ms: percentile(latenciesMs, 99.9),
    p999MsOfRounds,
    maxMs: percentile(latenciesMs, 100),
    loopMaxMs: await subject.longestIteration(),
  };
}

/** @returns ms from the time that each request was due to its response */
function send(
  { connections, token, nextNumber }: Subject,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<number[]>();
  const idle = [...connections];
  const total = Math.round(rate * seconds);
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const dueAt = (i: number) => startedAt + (i * 1_000) / rate;
  let sent = 0;

  function sendDue(): void {
    while (sent < total && dueAt(sent) <= performance.now()) {
      // The one that waited longest: the server closes connections that are not used.
      const connection = idle.shift();
      if (connection === undefined) return;
      exchange(connection, dueAt(sent));
      sent++;
    }
  }

  function exchange(connection: Connection, due: number): void {
    const settle = ({ status, body }: Answer) => {
      if (status !== 201) return reject(new Error(`got ${status}: ${body.toString("utf8")}`));
      latenciesMs.push(performance.now() - due);
      idle.push(connection);
      if (latenciesMs.length === total) resolve(latenciesMs);
      else sendDue();
    };
    connection.send(createMessage(token, nextNumber()), settle, reject);
  }

  const timer = setInterval(sendDue, 1);
  return promise.finally(() => clearInterval(timer));
}

export function openLoopTable(results: readonly OpenLoop[]): string {
  return table([
    [
      "creates at a fixed rate",
      "p50 ms",
      "p99 ms",
      "p99.9 ms",
      "of the rounds",
      "max ms",
      "event loop max ms",
    ],
    ...results.map((result) => [
      nameOf(result),
      ms(result.p50Ms),
      ms(result.p99Ms),
      ms(result.p999Ms),
      `${ms(Math.min(...result.p999MsOfRounds))} to ${ms(Math.max(...result.p999MsOfRounds))}`,
      ms(result.maxMs),
      ms(result.loopMaxMs),
    ]),
  ]);
}

function nameOf({ perSecond: rate, stored, backups }: OpenLoop): string {
  const parts = [`${perSecond(rate)} per second`];
  if (stored > 0) parts.push(`${perSecond(stored)} stored requests`);
  if (backups !== undefined) parts.push(`during backups (${backups} complete)`);
  return parts.join(", ");
}
