/**
 * What one operation costs, as it was measured: where the model starts. Times and bytes of other
 * machines differ; measure on yours and change this table, or give `--speed`.
 *
 * On PostgreSQL: `node tools/capacity/measure.ts`, 100,000 requests, 2 cores shared by load, server
 * and database, while other work ran on them; PostgreSQL 18.4, Node 24.21, November 2026.
 */

export interface OperationCost {
  /** Processor time of the server, µs: one event loop is one core. */
  readonly serverUs: number;
  /** Processor time of the database over all its processes, µs. */
  readonly databaseUs: number;
  /** Without images of whole pages, which the model adds. */
  readonly walBytes: number;
  /** Transactions, reads outside of one included. */
  readonly transactions: number;
  /** Messages to the database and back, one after another: counted in the code, not measured. */
  readonly roundTrips: number;
}

export type Operation = "create" | "read" | "verdict" | "notifiedVerdict";

/** Each with the reading of its credential. `verdict` is what a person sends after a `read`. */
export const OPERATION_COSTS: Readonly<Record<Operation, OperationCost>> = {
  create: { serverUs: 390, databaseUs: 316, walBytes: 1831, transactions: 2, roundTrips: 6 },
  read: { serverUs: 193, databaseUs: 100, walBytes: 0, transactions: 2, roundTrips: 2 },
  verdict: { serverUs: 594, databaseUs: 509, walBytes: 1710, transactions: 5, roundTrips: 10 },
  notifiedVerdict: {
    serverUs: 628,
    databaseUs: 602,
    walBytes: 2676,
    transactions: 5,
    roundTrips: 11,
  },
};

/** Bytes on disk, indexes included. Typical requests: a body of 450 bytes (bench/messages.ts). */
export const ROW_BYTES = {
  /** A request once it is decided, as long as it is kept. */
  request: 1_255,
  /** Both audit entries of one request, which are kept for ever. */
  audit: 824,
  notification: 732,
  /** Estimated, not measured: instance, credential, key and result of its provisioning. */
  instance: 2_000,
} as const;

/** Bytes between client and server for one operation, headers included, without TLS. */
export const NETWORK_BYTES: Readonly<Record<Operation, number>> = {
  // Counted from bench/messages.ts and answers to it.
  create: 1_700,
  read: 1_300,
  verdict: 1_900,
  notifiedVerdict: 1_900,
};

/**
 * Memory of the server, MB: 165 before the polls (87 of an idle process and the requests that were
 * just made) and 399 with 10,000 of them.
 *
 * @see docs/reference/performance.md, `npm run bench -- held-polls`
 */
export const MEMORY = { idleMb: 165, perPollMb: (399 - 165) / 10_000 } as const;
