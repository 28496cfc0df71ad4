/**
 * What the command line of the capacity model says. Every assumption is an option, with its default
 * and its unit.
 */

import { parseArgs } from "node:util";
import type { Variations } from "./cell.ts";
import type { Demand, Machines } from "./model.ts";
import type { Population } from "./shards.ts";

interface Assumption {
  readonly default: number;
  readonly help: string;
  readonly max?: number;
}

const ASSUMPTIONS = {
  "calls-per-second": { default: 100_000, help: "requests submitted in a second" },
  instances: { default: 10_000_000, help: "instances" },
  "human-share": { default: 0.01, max: 1, help: "of all calls: those that a person decides" },
  "decision-seconds": { default: 120, help: "until a person has decided, mean" },
  "notified-share": { default: 0.2, max: 1, help: "of all calls: those told by webhook" },
  "retention-hours": { default: 168, help: "how long decided requests are kept" },
  projects: { default: 100_000, help: "projects" },
  zipf: { default: 1, max: 3, help: "exponent of the sizes of projects; 0 is all alike" },
  speed: { default: 1, help: "of a core against the one that costs were measured on" },
  utilisation: { default: 0.6, max: 0.95, help: "of cores, pools and WAL at the busiest time" },
  "shard-cores": { default: 32, help: "cores of one database" },
  "shard-disk-tb": { default: 8, help: "disk of one database, TB" },
  "shard-wal-mb": { default: 200, help: "WAL that one database can write and ship, MB/s" },
  "shard-connections": { default: 400, help: "connections of one database" },
  "pool-connections": { default: 20, help: "database_connections_max of one replica" },
  "replica-connections": { default: 20_000, help: "connections_max of one replica" },
  "replica-memory-mb": { default: 1_024, help: "memory of one replica, MB" },
  "round-trip-ms": { default: 0.5, help: "between server and database, there and back, ms" },
  "commit-ms": { default: 2, help: "until a commit is durable, standby included, ms" },
  "checkpoint-seconds": { default: 900, help: "between two checkpoints" },
  variation: { default: 1, max: 5, help: "of service times: standard deviation over mean" },
  "wait-variation": { default: 0.3, max: 5, help: "the same of messages and commits" },
  "failover-seconds": { default: 30, help: "until a lost database has a successor" },
  "retry-seconds": { default: 10, help: "within which clients come again after it" },
  exchanges: { default: 100_000, max: 10_000_000, help: "simulated for each figure" },
  seed: { default: 1, help: "of chance: the same seed gives the same figures" },
} as const satisfies Record<string, Assumption>;

type Name = keyof typeof ASSUMPTIONS;

export interface Options {
  readonly demand: Demand;
  readonly machines: Machines;
  readonly population: Population;
  readonly variations: Variations;
  readonly failoverSeconds: number;
  readonly retrySeconds: number;
  readonly exchanges: number;
  readonly seed: number;
  /** Print the results as one JSON object instead of tables. */
  readonly json: boolean;
}

export function usage(): string {
  const lines = Object.entries(ASSUMPTIONS).map(
    ([name, { default: value, help }]) => `  --${`${name} N`.padEnd(24)}${help} (${value})`,
  );
  return ["node tools/capacity/capacity.ts [options]", "", ...lines, "  --json", ""].join("\n");
}

/**
 * @returns undefined when help was asked for
 * @throws Error naming the first wrong option
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const names = Object.keys(ASSUMPTIONS) as Name[];
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const given: Readonly<Record<string, unknown>> = values;
  const take = (name: Name): number => number(name, given[name]);
  return {
    demand: {
      callsPerSecond: take("calls-per-second"),
      instances: take("instances"),
      humanShare: take("human-share"),
      decisionSeconds: take("decision-seconds"),
      notifiedShare: take("notified-share"),
      retentionHours: take("retention-hours"),
    },
    machines: {
      speed: take("speed"),
      utilisation: take("utilisation"),
      shardCores: take("shard-cores"),
      shardDiskTb: take("shard-disk-tb"),
      shardWalMb: take("shard-wal-mb"),
      shardConnections: take("shard-connections"),
      poolConnections: take("pool-connections"),
      replicaConnections: take("replica-connections"),
      replicaMemoryMb: take("replica-memory-mb"),
      roundTripMs: take("round-trip-ms"),
      commitMs: take("commit-ms"),
      checkpointSeconds: take("checkpoint-seconds"),
    },
    population: { projects: take("projects"), exponent: take("zipf") },
    variations: { variation: take("variation"), waitVariation: take("wait-variation") },
    failoverSeconds: take("failover-seconds"),
    retrySeconds: take("retry-seconds"),
    exchanges: take("exchanges"),
    seed: take("seed"),
    json: values.json,
  };
}

/** Those that may be nothing at all. */
const MAY_BE_ZERO: readonly Name[] = [
  ...(["human-share", "decision-seconds", "notified-share", "zipf", "round-trip-ms"] as const),
  ...([
    "commit-ms",
    "variation",
    "wait-variation",
    "failover-seconds",
    "seed",
    "instances",
  ] as const),
];

function number(name: Name, given: unknown): number {
  const { default: fallback, max = 1e12 }: Assumption = ASSUMPTIONS[name];
  const value = given === undefined ? fallback : Number(given);
  const min = MAY_BE_ZERO.includes(name) ? 0 : Number.MIN_VALUE;
  if (value >= min && value <= max) return value;
  throw new Error(`--${name} must be a number ${min === 0 ? "from" : "above"} 0 to ${max}`);
}
