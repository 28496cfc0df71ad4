/**
 * Prints the results on PostgreSQL in the format of docs/reference/performance.md.
 */

import { growthTable } from "../growth.ts";
import { openLoopTable } from "../open-loop.ts";
import { median, type Spread } from "../statistics.ts";
import { ms, percent, perSecond, show, table, times } from "../table.ts";
import type { Creates } from "./creates.ts";
import type { HumanRoundTrips, ProviderName, TripRow } from "./human-round-trips.ts";
import type { PostgresResults } from "./measurements.ts";
import type { ReplicaRate, Replicas, ReplicaWakes, TwoAgainstOne } from "./replicas.ts";

export function postgresTables(results: PostgresResults): string[] {
  const { version, settings } = results;
  return [
    show(results.creates, createTable),
    show(results.roundTrips, tripTable),
    show(results.replicas, replicaTable),
    show(results.wakes, wakeTable),
    show(results.openLoop, (openLoop) => `On PostgreSQL:\n\n${openLoopTable(openLoop)}`),
    show(results.growth, (growth) => `On PostgreSQL:\n\n${growthTable(growth)}`),
    [`PostgreSQL ${version}; ${settings.join(", ")}; everything else by default.`],
  ].flat();
}

function createTable({ rows, connections }: Creates): string {
  return table([
    [
      `on PostgreSQL, ${connections} clients`,
      "create, of this",
      "spread",
      "per second",
      "p50 ms",
      "p99 ms",
      "CPU us",
      "CPU us of the database",
    ],
    ...rows.map(({ name, rate, ratios }) => [
      name,
      ...(ratios === undefined ? ["", ""] : [percent(median(ratios)), spreadOf(ratios, percent)]),
      perSecond(rate.perSecond),
      ms(rate.p50Ms),
      ms(rate.p99Ms),
      rate.cpuUs.toFixed(0),
      rate.databaseCpuUs.toFixed(0),
    ]),
  ]);
}

function tripTable({ rows }: HumanRoundTrips): string {
  const against = (row: TripRow, provider: ProviderName) => {
    if (row.engine === provider) return "";
    const ratios = row.against[provider];
    return `${times(median(ratios))} (${spreadOf(ratios, times)})`;
  };
  return table([
    [
      "create, verdict, long poll answered",
      "clients",
      "per second",
      "p50 ms",
      "p99 ms",
      "CPU us",
      "SQLite, of this",
      "PostgreSQL, of this",
    ],
    ...rows.map((row) => [
      row.engine,
      String(row.clients),
      perSecond(row.perSecond),
      ms(row.p50Ms),
      ms(row.p99Ms),
      row.cpuUs.toFixed(0),
      against(row, "SQLite"),
      against(row, "PostgreSQL"),
    ]),
  ]);
}

function replicaTable({ connections, create, roundTrip }: Replicas): string {
  const rate = ({ perSecond: rps, p50Ms, p99Ms, cpuUs }: ReplicaRate) => [
    perSecond(rps),
    ms(p50Ms),
    ms(p99Ms),
    cpuUs.toFixed(0),
  ];
  const rows = (name: string, { one, two, ratios }: TwoAgainstOne) => [
    [`${name}, one`, "", "", ...rate(one)],
    [`${name}, two`, times(median(ratios)), spreadOf(ratios, times), ...rate(two)],
  ];
  return table([
    [
      `replicas on the same cores, ${connections} clients`,
      "two, of one",
      "spread",
      "per second",
      "p50 ms",
      "p99 ms",
      "CPU us",
    ],
    ...rows("create", create),
    ...rows("round trip", roundTrip),
  ]);
}

function wakeTable({ same, other }: ReplicaWakes): string {
  const latency = ({ p50, p99, max }: Spread) => [ms(p50), ms(p99), ms(max)];
  const { verdicts, verdictsPerSecond } = other;
  return table([
    [
      `${verdicts} verdicts at ${perSecond(verdictsPerSecond)}/s, ms to the response to the poll`,
      "p50",
      "p99",
      "max",
    ],
    ["same replica, from the response to the verdict", ...latency(same.fromCommitMs)],
    ["same replica, from sending the verdict", ...latency(same.fromSendingMs)],
    ["other replica, from the response to the verdict", ...latency(other.fromCommitMs)],
    ["other replica, from sending the verdict", ...latency(other.fromSendingMs)],
  ]);
}

function spreadOf(values: readonly number[], print: (value: number) => string): string {
  return `${print(Math.min(...values))} to ${print(Math.max(...values))}`;
}
