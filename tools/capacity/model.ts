/**
 * What a number of calls needs: rates by operation, and from their measured costs processors,
 * connections, disk, WAL, network and memory. Arithmetic only; what queues do is in queue.ts, what
 * uneven projects do in shards.ts, what failures do in loss.ts.
 *
 * Called by: capacity.ts.
 */

import {
  MEMORY,
  NETWORK_BYTES,
  OPERATION_COSTS,
  type Operation,
  type OperationCost,
  ROW_BYTES,
} from "./measured.ts";

export interface Demand {
  /** Requests submitted in a second. */
  readonly callsPerSecond: number;
  readonly instances: number;
  /** Of all calls: those that wait for a person. The others are decided as they are submitted. */
  readonly humanShare: number;
  /** From submission to verdict where a person decides, mean. */
  readonly decisionSeconds: number;
  /** Of all calls: those whose instance has a receiver, and does not poll. */
  readonly notifiedShare: number;
  readonly retentionHours: number;
}

export interface Machines {
  /** How much faster a core is than the one that costs were measured on. */
  readonly speed: number;
  /** Of a core or a database that is in use, so that queues stay short. */
  readonly utilisation: number;
  readonly shardCores: number;
  readonly shardDiskTb: number;
  /** What one database can append and sync in a second. */
  readonly shardWalMb: number;
  /** Connections that one database serves well, behind a pooler or not. */
  readonly shardConnections: number;
  /** `database_connections_max`. */
  readonly poolConnections: number;
  /** `connections_max`, for polls and everybody else. */
  readonly replicaConnections: number;
  readonly replicaMemoryMb: number;
  /** Between server and database, one way and back. */
  readonly roundTripMs: number;
  /** Until a commit is durable where it has to be, standby included. */
  readonly commitMs: number;
  readonly checkpointSeconds: number;
}

/** Operations in a second. */
export type Rates = Readonly<Record<Operation, number>>;

const POLL_HELD_S = 30;

/**
 * A call that is decided at once is counted as a creation and a verdict: more than it will cost,
 * because both come in one exchange and one transaction.
 */
export function ratesOf(demand: Demand): Rates {
  const { callsPerSecond, humanShare, notifiedShare, decisionSeconds } = demand;
  const polled = callsPerSecond * humanShare * (1 - notifiedShare);
  // Each poll that ends without a decision is asked again; the reviewer looks once as well.
  const pollsEach = 1 + decisionSeconds / POLL_HELD_S;
  return {
    create: callsPerSecond,
    // Who was told reads once. A held poll reads when it begins and when it ends.
    read: polled * pollsEach * 2 + callsPerSecond * notifiedShare + callsPerSecond * humanShare,
    verdict: callsPerSecond * (1 - notifiedShare),
    notifiedVerdict: callsPerSecond * notifiedShare,
  };
}

export function pollsHeld({
  callsPerSecond,
  humanShare,
  notifiedShare,
  ...demand
}: Demand): number {
  return callsPerSecond * humanShare * (1 - notifiedShare) * demand.decisionSeconds;
}

/** The sum over all operations of rate times something that each of them costs. */
export function total(rates: Rates, cost: (operation: Operation) => number): number {
  return Object.entries(rates).reduce(
    (sum, [operation, rate]) => sum + rate * cost(operation as Operation),
    0,
  );
}

const costOf = (key: keyof OperationCost) => (operation: Operation) =>
  OPERATION_COSTS[operation][key];

const PAGE_BYTES = 8_192;
/** Of a page that is not full, and after `wal_compression = lz4`. */
const IMAGE_SHARE = 0.4;
const KEY_ENTRY_BYTES = 64;
const PAGE_FILL = 0.7;

/**
 * WAL bytes of page images for one insert of a random key: the first change of a page after a
 * checkpoint logs all of it, and the larger the index of keys, the more changes are first ones.
 *
 * @param rows in the index
 * @param inserts between two checkpoints
 */
export function imageBytes(rows: number, inserts: number): number {
  const pages = Math.max(1, (rows * KEY_ENTRY_BYTES) / (PAGE_BYTES * PAGE_FILL));
  const touched = pages * -Math.expm1(-inserts / pages);
  return inserts === 0 ? 0 : (touched / inserts) * PAGE_BYTES * IMAGE_SHARE;
}

export interface Storage {
  /** Requests that are kept, and those that are pending. */
  readonly requests: number;
  readonly requestTb: number;
  readonly notificationTb: number;
  readonly instanceTb: number;
  /** Audit entries are kept for ever: what one year adds. */
  readonly auditTbPerYear: number;
  /** The same for as long as requests are kept. */
  readonly auditTb: number;
}

const YEAR_S = 365 * 86_400;
const TB = 1e12;

export function storageOf(demand: Demand): Storage {
  const { callsPerSecond, humanShare, decisionSeconds, retentionHours } = demand;
  const keptS = retentionHours * 3_600 + humanShare * decisionSeconds;
  const requests = callsPerSecond * keptS;
  return {
    requests,
    requestTb: (requests * ROW_BYTES.request) / TB,
    notificationTb: (requests * demand.notifiedShare * ROW_BYTES.notification) / TB,
    instanceTb: (demand.instances * ROW_BYTES.instance) / TB,
    auditTb: (requests * ROW_BYTES.audit) / TB,
    auditTbPerYear: (callsPerSecond * YEAR_S * ROW_BYTES.audit) / TB,
  };
}

/** How many are needed for each reason; the largest is what is needed. */
export type Need = Readonly<Record<string, number>>;

export function largest(need: Need): { readonly reason: string; readonly count: number } {
  const [reason = "", count = 0] =
    Object.entries(need).sort(([, one], [, other]) => other - one)[0] ?? [];
  return { reason, count: Math.max(1, Math.ceil(count)) };
}

export interface Plan {
  readonly rates: Rates;
  readonly pollsHeld: number;
  readonly storage: Storage;
  /** WAL of the rows, and of page images, in a second. */
  readonly wal: { readonly rowMb: number; readonly imageMb: number };
  readonly network: { readonly clientMb: number; readonly databaseMb: number };
  readonly replicas: Need;
  readonly shards: Need;
  /** Transactions that are open at any moment, on average. */
  readonly openTransactions: number;
}

/** @returns what this demand needs of these machines, on average and without failures */
export function plan(demand: Demand, machines: Machines): Plan {
  const rates = ratesOf(demand);
  const held = pollsHeld(demand);
  const storage = storageOf(demand);
  const { speed, utilisation } = machines;
  const databaseCores = total(rates, costOf("databaseUs")) / 1e6 / speed;
  const serverCores = total(rates, costOf("serverUs")) / 1e6 / speed;
  const openTransactions = inTransaction(rates, machines);
  // Each insert goes to a page that its key chooses, whatever shard that is on.
  const images = imageBytes(storage.requests, demand.callsPerSecond * machines.checkpointSeconds);
  const wal = {
    rowMb: total(rates, costOf("walBytes")) / 1e6,
    imageMb: (demand.callsPerSecond * images) / 1e6,
  };
  const memoryMb = machines.replicaMemoryMb - MEMORY.idleMb;
  const replicas = {
    processor: serverCores / utilisation,
    "held polls: memory": (held * MEMORY.perPollMb) / memoryMb,
    "held polls: connections": held / machines.replicaConnections,
    "pool of connections": openTransactions / machines.poolConnections / utilisation,
  };
  const { requestTb, notificationTb, instanceTb, auditTb } = storage;
  // Not rounded, so that a small demand does not seem to fill a database.
  const needed = Math.max(...Object.values(replicas));
  const shards = {
    processor: databaseCores / machines.shardCores / utilisation,
    disk: (requestTb + notificationTb + instanceTb + auditTb) / machines.shardDiskTb / 0.7,
    WAL: (wal.rowMb + wal.imageMb) / machines.shardWalMb / utilisation,
    connections: (needed * machines.poolConnections) / machines.shardConnections,
  };
  const network = {
    clientMb: total(rates, (operation) => NETWORK_BYTES[operation]) / 1e6,
    // Statements are prepared: values one way, rows the other, and frames around them.
    databaseMb: total(rates, (operation) => NETWORK_BYTES[operation] * 1.5) / 1e6,
  };
  return { rates, pollsHeld: held, storage, wal, network, replicas, shards, openTransactions };
}

/** Little's law: rate times how long a connection is taken. */
function inTransaction(rates: Rates, { roundTripMs, commitMs, speed }: Machines): number {
  return total(rates, (operation) => {
    const { roundTrips, databaseUs, walBytes } = OPERATION_COSTS[operation];
    const writesMs = walBytes > 0 ? commitMs : 0;
    return (roundTrips * roundTripMs + databaseUs / 1000 / speed + writesMs) / 1000;
  });
}
