/**
 * The pool of connections to one PostgreSQL database, with the bounds that keep a sick database
 * from holding this process, and this process from holding a healthy database.
 */

import { hash } from "node:crypto";
import { Pool, type PoolClient } from "pg";
import type { PoolCounts, SqlValue } from "../store.ts";
import { deduplicateReads } from "./deduplicate-reads.ts";
import { breaksConnection } from "./errors.ts";
import {
  type Answer,
  type Kind,
  type Prepared,
  type Statement,
  StatementBatch,
} from "./statement-batch.ts";

/** For a free connection, or for a new one to be made. */
const CONNECT_MS_MAX = 5_000;

/** For a row that another transaction has locked. */
const LOCK_MS_MAX = 5_000;

const STATEMENT_MS_MAX = 10_000;

/** Longer than a statement may take: for a server that does not even keep its own bounds. */
const ANSWER_MS_MAX = 15_000;

/** The same for a migration, which takes as long as it takes. */
const PATIENT_ANSWER_MS_MAX = 24 * 3_600_000;

/** A process that was stopped in a transaction loses its locks. */
const IDLE_IN_TRANSACTION_MS_MAX = 15_000;

/** Statements that are planned once for a connection; texts with long lists come in many. */
const PREPARED_MAX = 256;

/** One of the pool's; a caller waits for its answers in the order in which it asked. */
export interface Connection {
  /**
   * What is asked in the same turn of the loop goes in one message, and is answered together.
   *
   * @param values of its parameters; undefined for what cannot be prepared, which may be several
   *   statements
   */
  query(kind: Kind, sql: string, values?: readonly SqlValue[]): Promise<Answer>;

  /** Gives it back. @param error what it was last seen to fail with, if it did */
  release(error?: unknown): void;

  /** Closes it, because it may still be in a transaction. */
  discard(): void;
}

/** Where a store takes its connections from. */
export interface ConnectionSource {
  /** @throws an error of the driver when there is none, none is free in time, or it is refused */
  take(patience?: StatementTimeout): Promise<Connection>;

  count(): PoolCounts;

  /** Waits for those that are in use. */
  end(): Promise<void>;
}

/** Of a caller whose statements may take longer than those of an exchange. */
export type StatementTimeout = "patient" | undefined;

export class Connections implements ConnectionSource {
  readonly #pool: Pool;
  readonly #names = new Map<string, string>();
  readonly #prepared = new WeakMap<PoolClient, Prepared>();

  /** @param max how many there may be; more callers than that wait, for a while */
  constructor(url: string, max: number, connectMs = CONNECT_MS_MAX) {
    this.#pool = new Pool({
      connectionString: url,
      max,
      application_name: "countersign",
      connectionTimeoutMillis: connectMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      lock_timeout: LOCK_MS_MAX,
      statement_timeout: STATEMENT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
      pipeline: true,
    });
    // A broken connection emits an event; without a listener it would end the process.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  async take(patience?: StatementTimeout): Promise<Connection> {
    const client = await this.#pool.connect();
    const prepared = this.#prepared.get(client) ?? new Map();
    this.#prepared.set(client, prepared);
    const patienceMs = patience === "patient" ? PATIENT_ANSWER_MS_MAX : undefined;
    return new TakenConnection(client, prepared, (text) => this.#nameOf(text), patienceMs);
  }

  count(): PoolCounts {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return {
      used: totalCount - idleCount,
      idle: idleCount,
      waiting: waitingCount,
    };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  /** Statements with a name are prepared once for each connection. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = nameOf(text);
    this.#names.set(text, name);
    return name;
  }
}

const WORD = /^\w+$/;

/**
 * The same in every process: a pooler that does not keep prepared statements apart may hand over a
 * connection on which another process has prepared its own, and one name must never stand for two
 * texts. Those of one word are named like it: who looks at the wire wants to see the commits.
 */
function nameOf(text: string): string {
  return `countersign_${WORD.test(text) ? text : hash("sha256", text, "hex").slice(0, 32)}`;
}

class TakenConnection implements Connection {
  readonly #client: PoolClient;
  readonly #prepared: Prepared;
  readonly #nameOf: (text: string) => string | undefined;
  readonly #patienceMs: number | undefined;
  #waiting: Statement[] = [];

  constructor(
    client: PoolClient,
    prepared: Prepared,
    nameOf: (text: string) => string | undefined,
    patienceMs: number | undefined,
  ) {
    this.#client = client;
    this.#prepared = prepared;
    this.#nameOf = nameOf;
    this.#patienceMs = patienceMs;
  }

  query(kind: Kind, text: string, values?: readonly SqlValue[]): Promise<Answer> {
    if (values === undefined) return this.#querySimply(text);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (this.#waiting.length === 0) process.nextTick(() => this.#send());
    this.#waiting.push({ kind, text, values, name: this.#nameOf(text), resolve, reject });
    return promise;
  }

  release(error?: unknown): void {
    this.#client.release(error !== undefined && breaksConnection(error));
  }

  discard(): void {
    this.#client.release(true);
  }

  #send(): void {
    if (this.#waiting.length === 0) return;
    const statements = deduplicateReads(this.#waiting);
    this.#waiting = [];
    new StatementBatch(statements, this.#prepared, this.#patienceMs).sendOn(this.#client);
  }

  async #querySimply(text: string): Promise<Answer> {
    this.#send();
    const bound = this.#patienceMs === undefined ? {} : { query_timeout: this.#patienceMs };
    const { rows, rowCount, command } = await this.#client.query({ text, ...bound });
    return { rows, count: rowCount ?? 0, command };
  }
}
