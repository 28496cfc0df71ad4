/**
 * The targets for speed and size, beside what a run measured.
 */

import type { OpenLoop } from "./open-loop.ts";
import { ratioOf, type Turn } from "./ratios.ts";
import type { Results } from "./results.ts";
import { median } from "./statistics.ts";
import { table } from "./table.ts";

interface Target {
  readonly name: string;
  readonly unit: string;
  readonly limit: number;
  /** True when larger values are better. */
  readonly isMinimum?: boolean;
  /** @returns the value of each round; empty when the run did not measure it */
  read(results: Results): readonly (number | undefined)[];
}

/** One client that waits for each response, instead of 32. */
const isAlone = ({ connections }: Results) => connections === 1;

const TARGETS: readonly Target[] = [
  {
    name: "CPU of the server for a decided create",
    unit: "us",
    limit: 125,
    read: (results) => (isAlone(results) ? [] : ofTurns(results, "decide", cpuUs)),
  },
  {
    name: "CPU of its storage-only baseline",
    unit: "us",
    limit: 65,
    read: (results) => (isAlone(results) ? [] : ofTurns(results, "rows", cpuUs)),
  },
  {
    name: "decided creates, of a bare echo",
    unit: "%",
    limit: 25,
    isMinimum: true,
    read: (results) =>
      isAlone(results) ? [] : ofTurns(results, "decide", (turn) => 100 * ratioOf(turn)),
  },
  {
    name: "p99 of a decided create at saturation",
    unit: "ms",
    limit: 20,
    read: (results) =>
      isAlone(results) ? [] : ofTurns(results, "decide", (turn) => turn.subject.p99Ms),
  },
  {
    name: "p50 of a decided create on one connection",
    unit: "ms",
    limit: 0.7,
    read: (results) =>
      isAlone(results) ? ofTurns(results, "decide", (turn) => turn.subject.p50Ms) : [],
  },
  {
    name: "p99.9 at 300 per second",
    unit: "ms",
    limit: 12,
    read: (results) => atFixedRate(results, isEmptyAt(300))?.p999MsOfRounds ?? [],
  },
  {
    name: "p99.9 at 1,000 per second",
    unit: "ms",
    limit: 20,
    read: (results) => atFixedRate(results, isEmptyAt(1_000))?.p999MsOfRounds ?? [],
  },
  {
    name: "p99.9 at 300 per second, with stored requests",
    unit: "ms",
    limit: 20,
    read: (results) => atFixedRate(results, isGrown)?.p999MsOfRounds ?? [],
  },
  {
    name: "p99.9 at 300 per second, with stored requests, during backups",
    unit: "ms",
    limit: 40,
    read: (results) => atFixedRate(results, isBackedUp)?.p999MsOfRounds ?? [],
  },
  {
    name: "longest event loop iteration at 1,000 per second",
    unit: "ms",
    limit: 5,
    read: (results) => [atFixedRate(results, isEmptyAt(1_000))?.loopMaxMs],
  },
  {
    name: "write-ahead log for a decided create of 2 KB, one connection",
    unit: "KB",
    limit: 16,
    read: ({ storage }) => {
      const long = storage?.log.find((each) => each.connections === 1 && each.bodyBytes > 1_000);
      return [long && long.bytesPerRequest / 1_000];
    },
  },
  {
    name: "database for a decided create",
    unit: "KB",
    limit: 1.3,
    read: ({ storage }) => [storage && storage.database.bytesPerRequest / 1_000],
  },
  roundTripTarget("SQLite", "Restate", 8),
  roundTripTarget("SQLite", "DBOS", 12),
  roundTripTarget("PostgreSQL", "Restate", 3),
  roundTripTarget("PostgreSQL", "DBOS", 6),
  {
    name: "start to ready",
    unit: "ms",
    limit: 250,
    read: ({ startUp }) => [startUp?.restartMs],
  },
  {
    name: "idle memory",
    unit: "MB",
    limit: 80,
    read: ({ startUp }) => [startUp?.idleMb],
  },
  {
    name: "idle CPU, of one core",
    unit: "%",
    limit: 0.3,
    read: ({ startUp }) => [startUp?.idleCpuPercent],
  },
  {
    name: "idle wake-ups",
    unit: "/s",
    limit: 10,
    read: ({ startUp }) => [startUp?.idleWakeUpsPerSecond],
  },
  {
    name: "audit verify",
    unit: "s",
    limit: 12,
    read: ({ audit }) => [audit?.verify.seconds],
  },
  {
    name: "memory of audit verify",
    unit: "MB",
    limit: 150,
    read: ({ audit }) => [audit?.verify.memoryMb],
  },
  {
    name: "audit verify --since the latest checkpoint",
    unit: "s",
    limit: 1,
    read: ({ audit }) => [audit?.verifySince.seconds],
  },
  {
    name: "p50 of a read with stored requests, of an empty store",
    unit: "x",
    limit: 1.15,
    read: ({ growth }) => [growth?.read.ratio],
  },
];

const cpuUs = ({ subject }: Turn) => subject.cpuUs;

function ofTurns(
  { comparisons }: Results,
  scenario: string,
  read: (turn: Turn) => number,
): readonly number[] {
  return comparisons.find((each) => each.scenario === scenario)?.turns.map(read) ?? [];
}

function atFixedRate(
  { openLoop = [] }: Results,
  isIt: (result: OpenLoop) => boolean,
): OpenLoop | undefined {
  return openLoop.find(isIt);
}

function isEmptyAt(rate: number): (result: OpenLoop) => boolean {
  return ({ perSecond, stored }) => perSecond === rate && stored === 0;
}

function isGrown({ stored, backups }: OpenLoop): boolean {
  return stored > 0 && backups === undefined;
}

function isBackedUp({ backups }: OpenLoop): boolean {
  return backups !== undefined;
}

function roundTripTarget(provider: "SQLite" | "PostgreSQL", peer: string, limit: number): Target {
  return {
    name: `round trips on ${provider} with 32 clients, of ${peer}`,
    unit: "x",
    limit,
    isMinimum: true,
    read: ({ postgres }) => {
      const rows = postgres?.roundTrips?.rows ?? [];
      const row = rows.find((each) => each.clients === 32 && each.engine.includes(peer));
      return row?.against[provider] ?? [];
    },
  };
}

/** @returns nothing when the run measured none of them */
export function targetTables(results: Results): string[] {
  const rows = TARGETS.flatMap((target) => {
    const values = target.read(results).filter((value) => value !== undefined);
    return values.length === 0 ? [] : [rowOf(target, values)];
  });
  if (rows.length === 0) return [];
  return [table([["target", "limit", "median", "lowest", "highest", "reached"], ...rows])];
}

function rowOf(
  { name, unit, limit, isMinimum = false }: Target,
  values: readonly number[],
): string[] {
  const write = (value: number) => `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`;
  const middle = median(values);
  const isReached = isMinimum ? middle >= limit : middle <= limit;
  return [
    name,
    `${isMinimum ? "at least" : "at most"} ${limit} ${unit}`,
    write(middle),
    write(Math.min(...values)),
    write(Math.max(...values)),
    isReached ? "yes" : "no",
  ];
}
