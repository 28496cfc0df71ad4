/**
 * All results of one run, and how they are printed.
 */

import { type AuditCommands, auditCommandsTable } from "./audit-commands.ts";
import type { GatedCalls } from "./gated-call.ts";
import { type Growth, growthTable } from "./growth.ts";
import type { HookStarts } from "./hook-start.ts";
import type { LongPolls } from "./long-polls.ts";
import type { Machine } from "./machine.ts";
import { type Migration, migrationTable } from "./migrate.ts";
import { type OpenLoop, openLoopTable } from "./open-loop.ts";
import type { PostgresResults } from "./postgres/measurements.ts";
import { postgresTables } from "./postgres/tables.ts";
import type { SelfTime } from "./profile.ts";
import type { Comparison, Rate } from "./ratios.ts";
import type { Simulation } from "./simulate.ts";
import type { StartUp } from "./start-up.ts";
import { median, rangeOf, type Spread } from "./statistics.ts";
import { type Storage, storageTables } from "./storage.ts";
import { mb, ms, percent, perSecond, show, table, times } from "./table.ts";
import { type Deliveries, deliveryTables } from "./webhooks/deliveries.ts";
import { type WrkResults, wrkTable } from "./wrk.ts";

export interface Results {
  readonly comparisons: readonly Comparison[];
  readonly openLoop?: readonly OpenLoop[];
  readonly longPolls?: LongPolls;
  readonly startUp?: StartUp;
  readonly deliveries?: Deliveries;
  readonly growth?: Growth;
  readonly simulation?: Simulation;
  readonly gatedCalls?: GatedCalls;
  readonly hookStarts?: HookStarts;
  readonly migration?: Migration;
  readonly audit?: AuditCommands;
  readonly storage?: Storage;
  readonly wrk?: WrkResults;
  readonly postgres?: PostgresResults;
  readonly profiles: readonly ScenarioProfile[];
  readonly machine: Machine;
  /** Of the comparisons. */
  readonly connections: number;
}

export interface ScenarioProfile {
  readonly scenario: string;
  readonly selfTimes: readonly SelfTime[];
}

export function resultTables(results: Results): string[] {
  return [
    show(results.comparisons, comparisonTable),
    show(results.openLoop, openLoopTable),
    show(results.longPolls, longPollsTable),
    show(results.startUp, startUpTable),
    show(results.deliveries, deliveryTables),
    show(results.growth, growthTable),
    show(results.simulation, simulationTable),
    show(results.gatedCalls, gatedCallsTable),
    show(results.hookStarts, hookStartsTable),
    show(results.migration, migrationTable),
    show(results.audit, auditCommandsTable),
    show(results.storage, storageTables),
    show(results.wrk, wrkTable),
    show(results.postgres, postgresTables),
    results.profiles.map(profileTable),
    [machineLine(results.machine)],
  ].flat();
}

function comparisonTable(comparisons: readonly Comparison[]): string[] {
  if (comparisons.length === 0) return [];
  const columns = ["p50 ms", "p99 ms", "CPU us"];
  const rate = ({ perSecond: rps, p50Ms, p99Ms, cpuUs }: Rate) => [
    perSecond(rps),
    ms(p50Ms),
    ms(p99Ms),
    cpuUs.toFixed(0),
  ];
  return [
    table([
      ["", "of the reference", "per second", ...columns, "reference per second", ...columns],
      ...comparisons.map(({ scenario, floor, subject, ratio }) => [
        scenario,
        percent(ratio),
        ...rate(subject),
        ...rate(floor),
      ]),
    ]),
  ];
}

function longPollsTable(result: LongPolls): string {
  const latency = ({ p50, p99, max }: Spread) => [ms(p50), ms(p99), ms(max)];
  const wakes = table([
    [`${perSecond(result.polls)} polls held, ms to the response to the poll`, "p50", "p99", "max"],
    ["from the response to the verdict", ...latency(result.fromCommitMs)],
    ["from sending the verdict", ...latency(result.fromSendingMs)],
  ]);
  const before = `Server memory ${mb(result.memoryBeforeMb)} MB before the polls`;
  const during = `${mb(result.memoryWithMb)} MB with them`;
  const pace = `${perSecond(result.verdicts)} verdicts at ${perSecond(result.verdictsPerSecond)}/s`;
  return `${wakes}\n\n${before}, ${during}; ${pace}.`;
}

function startUpTable(startUp: StartUp): string {
  const { coldMs, coldIdleMb, firstStartMs, restartsMs } = startUp;
  const { idleMb, idleCpuPercent, idleWakeUpsPerSecond } = startUp;
  const [fastest, slowest] = rangeOf(restartsMs).map((each) => each.toFixed(0));
  const restarts = `${median(restartsMs).toFixed(0)} ms (${fastest} to ${slowest})`;
  return table([
    ["countersign serve", ""],
    ["spawn to ready, empty folder", `${firstStartMs.toFixed(0)} ms`],
    ["spawn to ready, existing folder", restarts],
    ["idle memory", `${mb(idleMb)} MB`],
    ["idle CPU, of one core", `${idleCpuPercent.toFixed(2)} %`],
    ["idle wake-ups of all threads", `${idleWakeUpsPerSecond.toFixed(1)}/s`],
    ["spawn to ready, nothing compiled yet", `${coldMs.toFixed(0)} ms`],
    ["idle memory of that first run", `${mb(coldIdleMb)} MB`],
  ]);
}

function profileTable({ scenario, selfTimes }: ScenarioProfile): string {
  return table([
    [`${scenario}: self time of the busy server`, ""],
    ...selfTimes.map(({ name, percent: share }) => [name, `${share.toFixed(1)} %`]),
  ]);
}

function machineLine({ cores, cpu, memoryGb, node, durableWriteMs }: Machine): string {
  const disk = `8 KiB appended durably in ${ms(durableWriteMs)} ms`;
  return `Machine: ${cores} cores (${cpu}), ${memoryGb} GB, Node ${node}, ${disk}.`;
}

function simulationTable({ replayed, seconds, reports, alone, beside }: Simulation): string {
  const span = `${seconds.toFixed(1)} s, ${reports} reports`;
  const what = `${perSecond(replayed)} calls simulated in ${span}`;
  const cells = ({ p50, p99, max }: Spread) => [ms(p50), ms(p99), ms(max)];
  return table([
    [what, "p50 ms", "p99 ms", "max ms"],
    ["create, alone", ...cells(alone)],
    ["create, during the simulation", ...cells(beside)],
  ]);
}

function gatedCallsTable({ calls, gated, bare }: GatedCalls): string {
  return table([
    [`${perSecond(calls)} calls that policy approves, one client`, "p50 ms", "p99 ms"],
    ["from the tool call to the start of the tool", ms(gated.p50), ms(gated.p99)],
    ["one creation with fetch", ms(bare.p50), ms(bare.p99)],
    ["ratio", times(gated.p50 / bare.p50), times(gated.p99 / bare.p99)],
  ]);
}

function hookStartsTable({ starts, count, createMs }: HookStarts): string {
  const [bare] = starts;
  const rows = starts.map(({ name, wallMs, cpuMs }) => [
    name,
    times(wallMs / (bare?.wallMs ?? Number.NaN)),
    ms(wallMs),
    times(cpuMs / (bare?.cpuMs ?? Number.NaN)),
    ms(cpuMs),
  ]);
  const header = [`${count} starts of each`, "wall", "wall ms", "CPU", "CPU ms"];
  return `${table([header, ...rows])}\n\nThe server answers one creation in ${ms(createMs)} ms.`;
}
