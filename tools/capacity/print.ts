/**
 * The results of the capacity model as tables in Markdown.
 *
 * Called by: capacity.ts.
 */

import type { Results } from "./capacity.ts";
import type { Second } from "./loss.ts";
import { largest, type Need, type Plan } from "./model.ts";
import type { Options } from "./options.ts";

export function print(options: Options, results: Results): void {
  const lines = [
    ...needs(options, results.plan),
    ...latencies(results),
    ...projects(options, results),
    ...losses(options, results),
  ];
  console.log(lines.join("\n"));
}

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).concat("");
}

function why(need: Need): string {
  const all = Object.entries(need).sort(([, one], [, other]) => other - one);
  return all.map(([reason, value]) => `${reason} ${precise.format(value)}`).join(", ");
}

/** What the calculation alone says. */
export function needs({ demand, machines }: Options, plan: Plan): string[] {
  const { rates, storage, wal, network } = plan;
  const { callsPerSecond } = demand;
  const row = (name: string, value: string, why = "") => [name, value, why];
  const tb = (value: number) => `${precise.format(value)} TB`;
  const mb = (value: number) => `${precise.format(value)} MB/s`;
  const exchanges = Object.entries(rates)
    .map(([operation, rate]) => `${operation} ${count.format(rate)}`)
    .join(", ");
  const perDay = ((wal.rowMb + wal.imageMb) * 86_400) / 1e6;
  return table(
    [
      `${count.format(callsPerSecond)} calls/s, ${count.format(demand.instances)} instances`,
      "",
      "",
    ],
    [
      row("exchanges a second", count.format(sum(Object.values(rates))), exchanges),
      row("replicas", count.format(largest(plan.replicas).count), why(plan.replicas)),
      row("polls held", count.format(plan.pollsHeld)),
      row("shards", count.format(largest(plan.shards).count), why(plan.shards)),
      row(
        "connections to databases",
        count.format(largest(plan.replicas).count * machines.poolConnections),
        `open on average: ${count.format(plan.openTransactions)}`,
      ),
      row("requests stored", count.format(storage.requests), `for ${demand.retentionHours} h`),
      row("their rows", tb(storage.requestTb)),
      row("notifications", tb(storage.notificationTb), "where there is a receiver"),
      row("instances", tb(storage.instanceTb)),
      row("audit entries", `${tb(storage.auditTbPerYear)} a year`, "kept for ever"),
      row("of them while requests are kept", tb(storage.auditTb)),
      row("WAL", mb(wal.rowMb + wal.imageMb), `rows ${mb(wal.rowMb)}, pages ${mb(wal.imageMb)}`),
      row("WAL to archive", `${tb(perDay)} a day`, "and the same to each standby"),
      row("network to clients", mb(network.clientMb), "without TLS and notifications"),
      row("network to databases", mb(network.databaseMb)),
    ],
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const ms = (value: number): string => `${precise.format(value)} ms`;
const percent = (share: number): string => `${precise.format(share * 100)} %`;

function latencies({ cell, latencies: rows }: Results): string[] {
  const { replicas, connections, databaseCores } = cell;
  const servers = `${replicas} replicas of ${connections} connections`;
  return table(
    [`one shard of ${databaseCores} cores, ${servers}: used to`, "p50", "p99", "p99.9", "503"],
    rows.map(({ utilisation, p50Ms, p99Ms, p999Ms, refused }) => [
      percent(utilisation),
      ms(p50Ms),
      ms(p99Ms),
      ms(p999Ms),
      percent(refused),
    ]),
  );
}

function projects({ population, demand }: Options, { shards }: Results): string[] {
  const { projects: number, exponent } = population;
  const all = count.format(number);
  const rate = (value: number) => `${count.format(value)} calls/s`;
  const needed = shards.needed === undefined ? "none is enough" : count.format(shards.needed);
  return table(
    [`${all} projects, Zipf ${exponent}, over ${count.format(shards.shards)} shards`, ""],
    [
      ["the largest project", `${percent(shards.largestProject)} of all calls`],
      ["what it sends", rate(shards.largestProject * demand.callsPerSecond)],
      ["what one shard takes", rate(shards.capacity)],
      ["it outgrows a shard when all projects together send", rate(shards.outgrownAt)],
      ["fullest shard over the mean, by chance", `${precise.format(shards.fullest)} x`],
      ["the worst of 200 tries", `${precise.format(shards.fullestWorst)} x`],
      ["with large projects placed by hand", `${precise.format(shards.fullestPlaced)} x`],
      ["shards that keep the fullest within its bounds", needed],
    ],
  );
}

function losses(options: Options, results: Results): string[] {
  const { replicaLoss, shardReturn, stalls } = results;
  const { failoverSeconds, retrySeconds, machines } = options;
  const used = percent(machines.utilisation);
  const shown = (seconds: readonly Second[], chosen: readonly number[]) =>
    seconds
      .filter(({ second }) => chosen.includes(second))
      .map(({ second, perSecond, p99Ms }) => [
        `second ${second + 1}`,
        count.format(perSecond),
        ms(p99Ms),
      ]);
  return [
    ...table(
      [`one replica of the cell is lost at ${used}`, "exchanges begun", "their p99"],
      shown(replicaLoss, [0, 1, 2, 4, 9]),
    ),
    ...table(
      [
        `the shard is back after ${failoverSeconds} s; all come again within ${retrySeconds} s`,
        "exchanges begun",
        "their p99",
      ],
      shown(shardReturn, [0, 1, 4, 9, 14, 19, 29, 44, 59]),
    ),
    ...(stalls.length === 0 ? [] : hanging(stalls, used)),
  ];
}

function hanging(stalls: Results["stalls"], used: string): string[] {
  return table(
    [`one shard of all hangs, in pools that all share, at ${used}`, "503 elsewhere", "p99"],
    stalls.map(({ connections, refused, p99Ms }) => [
      `${count.format(connections)} connections for each replica`,
      percent(refused),
      ms(p99Ms),
    ]),
  );
}
