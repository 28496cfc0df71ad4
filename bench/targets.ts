/**
 * The targets for speed and size, beside what a run measured.
 */

import type { AuditCommands } from "./audit-commands.ts";
import type { OpenLoop } from "./open-loop.ts";
import { ratioOf, type Turn } from "./ratios.ts";
import type { Results } from "./results.ts";
import type { StartUp } from "./start-up.ts";
import { median, rangeOf } from "./statistics.ts";
import { table } from "./table.ts";

interface Target {
  readonly name: string;
  readonly unit: string;
  readonly limit: number;
  /** True when larger values are better. */
  readonly isMinimum?: boolean;
  /** @returns undefined when the run did not measure it */
  read(results: Results): Measured | undefined;
}

interface Measured {
  readonly value: number;
  /** The lowest and the highest of the rounds; undefined for a single measurement. */
  readonly range?: readonly [number, number];
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
  openLoopTarget("at 300 per second", 12, isEmptyAt(300)),
  openLoopTarget("at 1,000 per second", 20, isEmptyAt(1_000)),
  openLoopTarget("at 300 per second, with a million requests", 20, isGrown),
  openLoopTarget("at 300 per second, with a million requests, during backups", 40, isBackedUp),
  {
    name: "longest event loop iteration at 1,000 per second, of any cause",
    unit: "ms",
    limit: 5,
    read: (results) => single(atFixedRate(results, isEmptyAt(1_000))?.loopMaxMs),
  },
  {
    name: "write-ahead log for a decided create of 2 KB, one connection",
    unit: "KB",
    limit: 16,
    read: ({ storage }) => {
      const long = storage?.log.find((each) => each.connections === 1 && each.bodyBytes > 1_000);
      return single(long && long.bytesPerRequest / 1_000);
    },
  },
  {
    name: "database for a decided create",
    unit: "KB",
    limit: 1.3,
    read: ({ storage }) => single(storage && storage.database.bytesPerRequest / 1_000),
  },
  roundTripTarget("SQLite", "Restate", 8),
  roundTripTarget("SQLite", "DBOS", 12),
  roundTripTarget("PostgreSQL", "Restate", 3),
  roundTripTarget("PostgreSQL", "DBOS", 6),
  {
    name: "start to ready, installed from packages",
    unit: "ms",
    limit: 250,
    read: ({ startUp }) =>
      startUp?.isInstalled === true ? ofRounds(startUp.restartsMs) : undefined,
  },
  idleTarget("idle memory", "MB", 80, ({ idleMb }) => idleMb),
  idleTarget("idle CPU, of one core", "%", 0.3, ({ idleCpuPercent }) => idleCpuPercent),
  idleTarget("idle wake-ups", "/s", 10, ({ idleWakeUpsPerSecond }) => idleWakeUpsPerSecond),
  auditTarget("audit verify", "s", 12, ({ verify }) => verify.seconds),
  auditTarget("memory of audit verify", "MB", 150, ({ verify }) => verify.memoryMb),
  auditTarget("audit verify --since a recent checkpoint", "s", 1, ({ verifySince }) => {
    return verifySince.seconds;
  }),
  {
    name: "p50 of a read with two million requests, of an empty store",
    unit: "x",
    limit: 1.15,
    read({ growth }) {
      if (growth?.stored !== 2 * STORED) return undefined;
      return { value: growth.read.ratio, range: growth.read.spread };
    },
  },
];

function openLoopTarget(what: string, limit: number, isIt: (result: OpenLoop) => boolean): Target {
  return {
    name: `p99.9 ${what}`,
    unit: "ms",
    limit,
    read(results) {
      const found = atFixedRate(results, isIt);
      return found && { value: found.p999Ms, range: rangeOf(found.p999MsOfRounds) };
    },
  };
}

function roundTripTarget(provider: "SQLite" | "PostgreSQL", peer: string, limit: number): Target {
  return {
    name: `round trips on ${provider} with 32 clients, of ${peer}`,
    unit: "x",
    limit,
    isMinimum: true,
    read({ postgres }) {
      const rows = postgres?.roundTrips?.rows ?? [];
      const row = rows.find((each) => each.clients === MANY && each.engine.includes(peer));
      return ofRounds(row?.against[provider] ?? []);
    },
  };
}

function idleTarget(
  what: string,
  unit: string,
  limit: number,
  read: (startUp: StartUp) => number,
): Target {
  return {
    name: `${what}, installed from packages`,
    unit,
    limit,
    read: ({ startUp }) => single(startUp?.isInstalled === true ? read(startUp) : undefined),
  };
}

function auditTarget(
  what: string,
  unit: string,
  limit: number,
  read: (audit: AuditCommands) => readonly number[],
): Target {
  return {
    name: `${what}, two million entries`,
    unit,
    limit,
    read: ({ audit }) => (audit?.stored === STORED ? ofRounds(read(audit)) : undefined),
  };
}

const cpuUs = ({ subject }: Turn) => subject.cpuUs;

/** @returns undefined unless it was measured with so many connections */
function ofTurns(
  { comparisons, connections }: Results,
  scenario: string,
  count: number,
  read: (turn: Turn) => number,
): Measured | undefined {
  if (connections !== count) return undefined;
  return ofRounds(comparisons.find((each) => each.scenario === scenario)?.turns.map(read) ?? []);
}

function ofRounds(values: readonly number[]): Measured | undefined {
  return values.length === 0 ? undefined : { value: median(values), range: rangeOf(values) };
}

function single(value: number | undefined): Measured | undefined {
  return value === undefined ? undefined : { value };
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

const HEADER = ["target", "limit", "measured", "lowest", "highest", "reached"];

/** @returns nothing when the run measured none of them */
export function targetTables(results: Results): string[] {
  const rows = TARGETS.flatMap((target) => {
    const measured = target.read(results);
    return measured === undefined ? [] : [rowOf(target, measured)];
  });
  return rows.length === 0 ? [] : [table([HEADER, ...rows])];
}

function rowOf(
  { name, unit, limit, isMinimum = false }: Target,
  { value, range }: Measured,
): string[] {
  const write = (each: number) => `${each.toFixed(each < 10 ? 2 : 1)} ${unit}`;
  const isReached = isMinimum ? value >= limit : value <= limit;
  return [
    name,
    `${isMinimum ? "at least" : "at most"} ${limit} ${unit}`,
    write(value),
    range === undefined ? "-" : write(range[0]),
    range === undefined ? "-" : write(range[1]),
    isReached ? "yes" : "no",
  ];
}
