/**
 * The targets for speed and size, beside what a run measured.
 */

import type { AuditCommands } from "./audit-commands.ts";
import type { OpenLoop } from "./open-loop.ts";
import { ratioOf, type Turn } from "./ratios.ts";
import type { Results } from "./results.ts";
import type { StartUp } from "./start-up.ts";
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

/** Clients that each wait for a response. */
const MANY = 32;

/** Requests of the runs with many of them. */
const STORED = 1_000_000;

const TARGETS: readonly Target[] = [
  {
    name: "CPU of the server for a decided create",
    unit: "us",
    limit: 125,
    read: (results) => ofTurns(results, "decide", MANY, cpuUs),
  },
  {
    name: "CPU of its storage-only baseline",
    unit: "us",
    limit: 65,
    read: (results) => ofTurns(results, "rows", MANY, cpuUs),
  },
  {
    name: "decided creates, of a bare echo",
    unit: "%",
    limit: 25,
    isMinimum: true,
    read: (results) => ofTurns(results, "decide", MANY, (turn) => 100 * ratioOf(turn)),
  },
  {
    name: "p99 of a decided create at saturation",
    unit: "ms",
    limit: 20,
    read: (results) => ofTurns(results, "decide", MANY, (turn) => turn.subject.p99Ms),
  },
  {
    name: "p50 of a decided create on one connection",
    unit: "ms",
    limit: 0.7,
    read: (results) => ofTurns(results, "decide", 1, (turn) => turn.subject.p50Ms),
  },
  {
    name: "p99.9 at 300 per second",
    unit: "ms",
    limit: 12,
    read: (results) => [atFixedRate(results, isEmptyAt(300))?.p999Ms],
  },
  {
    name: "p99.9 at 1,000 per second",
    unit: "ms",
    limit: 20,
    read: (results) => [atFixedRate(results, isEmptyAt(1_000))?.p999Ms],
  },
  {
    name: "p99.9 at 300 per second, with a million requests",
    unit: "ms",
    limit: 20,
    read: (results) => [atFixedRate(results, isGrown)?.p999Ms],
  },
  {
    name: "p99.9 at 300 per second, with a million requests, during backups",
    unit: "ms",
    limit: 40,
    read: (results) => [atFixedRate(results, isBackedUp)?.p999Ms],
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
    name: "start to ready, installed from packages",
    unit: "ms",
    limit: 250,
    read: (results) => [ofPackage(results)?.restartMs],
  },
  {
    name: "idle memory, installed from packages",
    unit: "MB",
    limit: 80,
    read: (results) => [ofPackage(results)?.idleMb],
  },
  {
    name: "idle CPU, of one core, installed from packages",
    unit: "%",
    limit: 0.3,
    read: (results) => [ofPackage(results)?.idleCpuPercent],
  },
  {
    name: "idle wake-ups, installed from packages",
    unit: "/s",
    limit: 10,
    read: (results) => [ofPackage(results)?.idleWakeUpsPerSecond],
  },
  {
    name: "audit verify, two million entries",
    unit: "s",
    limit: 12,
    read: (results) => [ofLargeLog(results)?.verify.seconds],
  },
  {
    name: "memory of audit verify, two million entries",
    unit: "MB",
    limit: 150,
    read: (results) => [ofLargeLog(results)?.verify.memoryMb],
  },
  {
    name: "audit verify --since the latest checkpoint, two million entries",
    unit: "s",
    limit: 1,
    read: (results) => [ofLargeLog(results)?.verifySince.seconds],
  },
  {
    name: "p50 of a read with two million requests, of an empty store",
    unit: "x",
    limit: 1.15,
    read: ({ growth }) => [growth?.stored === 2 * STORED ? growth.read.ratio : undefined],
  },
];

const cpuUs = ({ subject }: Turn) => subject.cpuUs;

/** @returns nothing unless it was measured with so many connections */
function ofTurns(
  { comparisons, connections }: Results,
  scenario: string,
  count: number,
  read: (turn: Turn) => number,
): readonly number[] {
  if (connections !== count) return [];
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
  return stored === STORED && backups === undefined;
}

function isBackedUp({ stored, backups }: OpenLoop): boolean {
  return stored === STORED && backups !== undefined;
}

function ofPackage({ startUp }: Results): StartUp | undefined {
  return startUp?.isInstalled === true ? startUp : undefined;
}

function ofLargeLog({ audit }: Results): AuditCommands | undefined {
  return audit !== undefined && audit.entries >= 2 * STORED ? audit : undefined;
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
