/**
 * Creations through the whole provider against the same rows inserted bare, in turns, into two
 * databases of one server.
 */

import { join } from "node:path";
import { type Child, cpuSeconds, startChild } from "../children.ts";
import type { Outcome } from "../load-generator.ts";
import type { Options } from "../options.ts";
import { create } from "../scenarios/create.ts";
import { decide } from "../scenarios/decide.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import { median } from "../statistics.ts";
import type { Subject } from "../subject.ts";
import { reportProgress } from "../table.ts";
import type { DatabaseServer } from "./database-server.ts";
import type { InsertOrder } from "./insert-floor.ts";
import { startShared } from "./shared-subject.ts";

export interface Creates {
  readonly connections: number;
  readonly rows: readonly CreateRow[];
}

export interface CreateRow {
  readonly name: string;
  readonly rate: DatabaseRate;
  /** Of the subject to this baseline; undefined for a subject. */
  readonly ratios?: readonly number[];
}

export interface DatabaseRate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the program for one, in microseconds. */
  readonly cpuUs: number;
  /** The same of the database server. */
  readonly databaseCpuUs: number;
}

/** The measured scenarios. Add a line here for another row in the results. */
const SUBJECTS: readonly Scenario[] = [create, decide];

const FLOOR_CONNECTIONS = 20;
const FLOORS = [
  { name: "sequential inserts", isPipelined: false },
  { name: "all statements at once", isPipelined: true },
];

const WARM_UP_S = 1.5;

export async function measureCreates(server: DatabaseServer, options: Options): Promise<Creates> {
  const { connections, profile } = options;
  const rows: CreateRow[] = [];
  const folder = profile === undefined ? undefined : join(profile, PROFILE_NAME);
  const floorUrl = await server.createDatabase();
  // Migrates and makes the instance that the floor's rows belong to.
  await (await startShared(floorUrl, 1)).stop();
  const program = { file: "postgres/insert-floor.ts", args: [floorUrl] };
  const floor = await startChild<"started">(program);
  try {
    for (const scenario of SUBJECTS) {
      const url = await server.createDatabase();
      const { policy } = scenario;
      const subject = await startShared(url, connections, { profile: folder, policy });
      try {
        rows.push(...(await compare(server, { scenario, subject, floor }, options)));
      } finally {
        await subject.stop();
      }
    }
  } finally {
    await floor.stop();
  }
  return { connections, rows };
}

/** The folder of its profile. */
export const PROFILE_NAME = "postgres-create";

interface Contest {
  readonly scenario: Scenario;
  readonly subject: Subject;
  readonly floor: Child<unknown>;
}

async function compare(
  server: DatabaseServer,
  { scenario, subject, floor }: Contest,
  options: Options,
): Promise<CreateRow[]> {
  const turns: DatabaseRate[][] = [];
  for (let round = 0; round <= options.rounds; round++) {
    reportProgress(`postgres: ${scenario.name}, round ${round} of ${options.rounds}`);
    const seconds = round === 0 ? WARM_UP_S : options.seconds;
    const turn: DatabaseRate[] = [];
    for (const { isPipelined } of FLOORS) {
      const order: InsertOrder = { seconds, connections: FLOOR_CONNECTIONS, isPipelined };
      turn.push(await rateOf(server, floor.pid, () => floor.ask<Outcome>(order)));
    }
    const run = await scenario.prepare(subject, seconds);
    turn.push(await rateOf(server, subject.pid, () => run(seconds)));
    if (round > 0) turns.push(turn);
  }
  return toRows(scenario.name, turns);
}

function toRows(scenario: string, turns: readonly (readonly DatabaseRate[])[]): CreateRow[] {
  const at = (place: number) => turns.flatMap((turn) => turn[place] ?? []);
  const subject = at(FLOORS.length);
  const floors = FLOORS.map(({ name }, place) => ({
    name: `${name} (${FLOOR_CONNECTIONS} connections)`,
    rate: medianRate(at(place)),
    ratios: at(place).map((rate, i) => (subject[i]?.perSecond ?? 0) / rate.perSecond),
  }));
  return [{ name: scenario, rate: medianRate(subject) }, ...floors];
}

/** Runs something and says what it cost the program `pid` and the database. */
export async function rateOf(
  server: DatabaseServer,
  pid: number,
  run: () => Promise<Outcome>,
): Promise<DatabaseRate> {
  const before = { own: cpuSeconds(pid), database: server.cpuSeconds() };
  const { exchanges, perSecond, p50Ms, p99Ms } = await run();
  const cpuUs = ((cpuSeconds(pid) - before.own) / exchanges) * 1e6;
  const databaseCpuUs = ((server.cpuSeconds() - before.database) / exchanges) * 1e6;
  return { perSecond, p50Ms, p99Ms, cpuUs, databaseCpuUs };
}

export function medianRate(rates: readonly DatabaseRate[]): DatabaseRate {
  return {
    perSecond: median(rates.map((one) => one.perSecond)),
    p50Ms: median(rates.map((one) => one.p50Ms)),
    p99Ms: median(rates.map((one) => one.p99Ms)),
    cpuUs: median(rates.map((one) => one.cpuUs)),
    databaseCpuUs: median(rates.map((one) => one.databaseCpuUs)),
  };
}
