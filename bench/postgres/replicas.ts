/**
 * Measures a second replica on the same machine, and how soon a poll at one replica returns a
 * verdict from the other.
 */

import { cpuSeconds, startChild } from "../children.ts";
import { type Outcome, runLoad } from "../load-generator.ts";
import { openPolls, type Wakes, wake } from "../long-polls.ts";
import { createMessage } from "../messages.ts";
import type { Options } from "../options.ts";
import { providerEngine, runRoundTrips } from "../round-trip-client.ts";
import { median } from "../statistics.ts";
import type { Filled, Subject } from "../subject.ts";
import { reportProgress } from "../table.ts";
import type { DatabaseServer } from "./database-server.ts";
import { startReplicas } from "./shared-subject.ts";

export interface Replicas {
  readonly connections: number;
  readonly create: TwoAgainstOne;
  /** Each client and its reviewer at the same replica. */
  readonly roundTrip: TwoAgainstOne;
}

export interface TwoAgainstOne {
  readonly one: ReplicaRate;
  readonly two: ReplicaRate;
  readonly ratios: readonly number[];
}

export interface ReplicaRate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of all replicas for one, in microseconds. */
  readonly cpuUs: number;
}

const WARM_UP_S = 1.5;

export async function compareReplicas(server: DatabaseServer, options: Options): Promise<Replicas> {
  const { connections } = options;
  const replicas = await startReplicas(await server.createDatabase(), connections);
  try {
    const create = await takeTurns(replicas, options, "create", runCreates);
    const roundTrip = await takeTurns(replicas, options, "round-trip", runTrips);
    return { connections, create, roundTrip };
  } finally {
    for (const replica of replicas) await replica.stop();
  }
}

/** Runs something at some replicas, with as many connections in all, however many these are. */
type Run = (replicas: readonly Subject[], options: Options, seconds: number) => Promise<Outcome>;

function runCreates(
  replicas: readonly Subject[],
  { connections }: Options,
  seconds: number,
): Promise<Outcome> {
  const each = Math.ceil(connections / replicas.length);
  const all = replicas.flatMap((replica) => replica.connections.slice(0, each));
  const [{ token, nextNumber } = neverEmpty()] = replicas;
  return runLoad(all, { next: () => createMessage(token, nextNumber()), status: 201 }, seconds);
}

async function runTrips(
  replicas: readonly Subject[],
  { connections }: Options,
  seconds: number,
): Promise<Outcome> {
  let opened = 0;
  const engines = replicas.map((replica) => providerEngine("", replica));
  const openClient = () => (engines[opened++ % engines.length] ?? neverEmpty()).openClient();
  const engine = { name: "replicas", openClient, cpuSeconds: () => 0, stop: async () => {} };
  return runRoundTrips(engine, connections, seconds);
}

function neverEmpty(): never {
  throw new Error("there is no replica");
}

async function takeTurns(
  replicas: readonly [Subject, Subject],
  options: Options,
  name: string,
  run: Run,
): Promise<TwoAgainstOne> {
  const [first] = replicas;
  const turns: { one: ReplicaRate; two: ReplicaRate }[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    reportProgress(`postgres: replicas, ${name}, round ${round} of ${options.rounds}`);
    const seconds = round === 0 ? WARM_UP_S : options.seconds;
    const turn = {
      one: await rateOf([first], (some) => run(some, options, seconds)),
      two: await rateOf(replicas, (some) => run(some, options, seconds)),
    };
    if (round > 0) turns.push(turn);
  }
  return {
    one: medianRate(turns.map(({ one }) => one)),
    two: medianRate(turns.map(({ two }) => two)),
    ratios: turns.map(({ one, two }) => two.perSecond / one.perSecond),
  };
}

async function rateOf(
  replicas: readonly Subject[],
  run: (replicas: readonly Subject[]) => Promise<Outcome>,
): Promise<ReplicaRate> {
  const used = () => replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const before = used();
  const { exchanges, perSecond, p50Ms, p99Ms } = await run(replicas);
  return { perSecond, p50Ms, p99Ms, cpuUs: ((used() - before) / exchanges) * 1e6 };
}

function medianRate(rates: readonly ReplicaRate[]): ReplicaRate {
  return {
    perSecond: median(rates.map((one) => one.perSecond)),
    p50Ms: median(rates.map((one) => one.p50Ms)),
    p99Ms: median(rates.map((one) => one.p99Ms)),
    cpuUs: median(rates.map((one) => one.cpuUs)),
  };
}

export interface ReplicaWakes {
  /** The verdict is cast at the replica that holds the poll. */
  readonly same: Wakes;
  /** It is cast at the other one. */
  readonly other: Wakes;
}

const FILL_S_MAX = 120;
const CONNECTIONS = 16;

/** Of `--verdicts` polls held at the first replica, half are decided at each. */
export async function timeReplicaWakes(
  server: DatabaseServer,
  { verdicts }: Options,
): Promise<ReplicaWakes> {
  const replicas = await startReplicas(await server.createDatabase(), CONNECTIONS);
  const [first, second] = replicas;
  try {
    reportProgress(`postgres: making and polling ${verdicts} requests`);
    const limit = { seconds: FILL_S_MAX, count: verdicts };
    const pending = await first.fill(limit);
    const half = Math.floor(pending.length / 2);
    return {
      same: await wakeAt(first, first, pending.slice(0, half)),
      other: await wakeAt(first, second, pending.slice(half)),
    };
  } finally {
    for (const replica of replicas) await replica.stop();
  }
}

async function wakeAt(
  polled: Subject,
  reviewed: Subject,
  pending: readonly Filled[],
): Promise<Wakes> {
  const client = await startChild<"started">({ file: "poll-client.ts" });
  try {
    await openPolls(client, polled, pending);
    reportProgress(`postgres: deciding ${pending.length} of them`);
    return await wake(client, reviewed, pending);
  } finally {
    await client.stop();
  }
}
