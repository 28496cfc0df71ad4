/**
 * Parses the command line of the benchmark.
 */

import { parseArgs } from "node:util";

export const SECTIONS = [
  "create",
  "decide",
  "replay",
  "read",
  "cancel",
  "round-trip",
  "rows",
  "open-loop",
  "long-polls",
  "start-up",
  "delivery",
  "growth",
  "simulate",
  "gated-call",
  "hook-start",
] as const;

/** The sections that `postgres` selects. A run without sections leaves them out. */
export const POSTGRES_SECTIONS = [
  "postgres-create",
  "postgres-round-trip",
  "postgres-replicas",
  "postgres-wake",
  "postgres-open-loop",
  "postgres-growth",
] as const;

/** Needs a program of others. A run without sections leaves it out. */
const WRK = "wrk";

/** Measure no ratios, and take minutes to hours. A run without sections leaves them out. */
const LONG_SECTIONS = ["migrate", "audit", "storage"] as const;

export type Section =
  | (typeof SECTIONS)[number]
  | (typeof POSTGRES_SECTIONS)[number]
  | typeof WRK
  | (typeof LONG_SECTIONS)[number];

export interface Options {
  /** Alternations of baseline and subject. The benchmark prints their median. */
  readonly rounds: number;
  /** Length of one timed run. */
  readonly seconds: number;
  /** Connections, each with one exchange in flight. */
  readonly connections: number;
  readonly only: readonly Section[];
  /** Long polls to hold; the file limit may allow fewer. */
  readonly polls: number;
  /** How many of the long polls are woken by a verdict. */
  readonly verdicts: number;
  /** Notifications to drain in one timed run, those that warm up included. */
  readonly notifications: number;
  /** Notifications that wait for the dead destination. */
  readonly queued: number;
  /** Decided requests to fill a store with. Undefined: the default of each section. */
  readonly stored: number | undefined;
  /** A project with the package `countersign` to start; undefined: the sources. */
  readonly installed: string | undefined;
  /** Folder for CPU profiles of the server, or undefined for none. */
  readonly profile: string | undefined;
  /** Print the results as one JSON object instead of tables. */
  readonly json: boolean;
}

export const USAGE = `npm run bench -- [sections] [options]

Without sections, it measures:
  ${SECTIONS.join(", ")}

Sections only when named:
  postgres  on PostgreSQL: ${POSTGRES_SECTIONS.join(", ")}
  wrk       creates with the program wrk
  migrate   migration of a database of the oldest schema
  audit     verification and export of an audit log
  storage   bytes on the disk

  --rounds N        alternations of baseline and subject (5)
  --seconds S       length of one timed run (3)
  --connections N   connections, or webhooks under way, with one exchange on each (32)
  --only A,B        the same as naming sections
  --polls N         long polls to hold (10000, or what the file limit allows)
  --verdicts N      long polls to wake (1000)
  --notifications N delivered in one timed run (40000)
  --queued N        notifications that wait for a dead destination (100000)
  --stored N        decided requests in the store: for growth, and further rows of open-loop (none);
                    postgres-growth and migrate (2000000); audit (1000000); simulate (100000)
  --installed DIR   start-up: a project with the package countersign, instead of the sources
  --profile DIR     write CPU profiles of the server to DIR and print where its time goes
  --json            print one JSON object
`;

const COUNT_MAX = 10_000_000;

/**
 * @returns undefined when help was asked for
 * @throws Error naming the first wrong option
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "3" },
      connections: { type: "string", default: "32" },
      only: { type: "string", multiple: true, default: [] },
      polls: { type: "string", default: "10000" },
      verdicts: { type: "string", default: "1000" },
      notifications: { type: "string", default: "40000" },
      queued: { type: "string", default: "100000" },
      stored: { type: "string" },
      installed: { type: "string" },
      profile: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const only = sections([...values.only, ...positionals]);
  const stored = values.stored === undefined ? undefined : count("stored", values.stored, 1);
  if (only !== SECTIONS && only.includes("growth") && stored === undefined) {
    throw new Error("growth needs --stored, the number of requests to compare with none");
  }
  return {
    rounds: count("rounds", values.rounds, 1),
    seconds: count("seconds", values.seconds, 0.1),
    connections: count("connections", values.connections, 1),
    only,
    polls: count("polls", values.polls, 1),
    verdicts: count("verdicts", values.verdicts, 1),
    notifications: count("notifications", values.notifications, 10),
    queued: count("queued", values.queued, 1),
    stored,
    installed: values.installed,
    profile: values.profile,
    json: values.json,
  };
}

function count(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!(value >= min && value <= COUNT_MAX)) {
    throw new Error(`--${name} must be a number from ${min} to ${COUNT_MAX}`);
  }
  return value;
}

function sections(lists: readonly string[]): readonly Section[] {
  const named = lists.flatMap((list) => list.split(","));
  const names = named.flatMap((name) => (name === "postgres" ? POSTGRES_SECTIONS : [name]));
  const known: readonly string[] = [...SECTIONS, ...POSTGRES_SECTIONS, WRK, ...LONG_SECTIONS];
  for (const name of names) {
    if (!known.includes(name)) {
      throw new Error(`${name} is not one of ${known.join(", ")}, postgres`);
    }
  }
  return names.length === 0 ? SECTIONS : (names as Section[]);
}
