/**
 * The pool of connections to one PostgreSQL database. Its limits prevent a failing database from
 * blocking this process, and this process from blocking the database.
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

/** For a free or new connection. */
const CONNECT_MS_MAX = 5_000;

/** For a row that another transaction has locked. */
const LOCK_MS_MAX = 5_000;

const STATEMENT_MS_MAX = 10_000;

/** Longer than a statement may take, for a server that ignores its own limits. */
const ANSWER_MS_MAX = 15_000;

/** The same for a migration, which may take long. */
const PATIENT_ANSWER_MS_MAX = 24 * 3_600_000;

/** A stopped process loses its locks in a transaction after this time. */
const IDLE_IN_TRANSACTION_MS_MAX = 15_000;

/** Maximum prepared statements of a connection. Texts with long lists have many variants. */
const PREPARED_MAX = 256;

/** A pooled connection. A caller receives answers in the order of its queries. */
export interface Connection {
  /**
   * Queries of one event loop iteration are sent in one message and answered together.
   *
   * @param values of its parameters; undefined for texts that cannot be prepared, which may contain
   * several statements
   */
  query(kind: Kind, sql: string, values?: readonly SqlValue[]): Promise<Answer>;

  /** Returns it to the pool. @param error its last failure, if any */
  release(error?: unknown): void;

  /** Closes it, because it may still be in a transaction. */
  discard(): void;
}

/** Provides connections to a store. */
export interface ConnectionSource {
  /**
   * @throws a driver error when none can be opened, none is free in time, or the server rejects it
   */
  take(patience?: StatementTimeout): Promise<Connection>;

  count(): PoolCounts;

  /** Waits for connections in use. */
  end(): Promise<void>;
}

/** "patient": statements may take longer than those of an exchange. */
export type StatementTimeout = "patient" | undefined;

export class Connections implements ConnectionSource {
  readonly #pool: Pool;
  readonly #names = new Map<string, string>();
  readonly #prepared = new WeakMap<PoolClient, Prepared>();

  /** @param max maximum connections; further callers wait for a limited time */
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
    // A broken connection emits an event. Without a listener, it would end the process.
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
 * The same in every process, because a pooler may hand over a connection on which another process
 * has prepared its statements, and a name must never have two texts. Statements of one word keep
 * their word as the name, so that commits are visible in network traces.
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
