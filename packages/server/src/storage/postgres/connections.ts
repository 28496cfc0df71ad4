/**
 * The pool of connections to one PostgreSQL database, with the bounds that keep a sick database
 * from holding this process, and this process from holding a healthy database.
 */

import { Pool, types } from "pg";
import type { Row, SqlValue } from "../store.ts";
import { breaksConnection } from "./errors.ts";

/** For a free connection, or for a new one to be made. */
const CONNECT_MS_MAX = 5_000;

/** For a row that somebody else holds. */
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

const NUMERIC_OIDS: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

/** One of the pool's; a caller waits for its answers in the order in which it asked. */
export interface Connection {
  query(sql: string, values?: readonly SqlValue[]): Promise<Answer>;

  /** Gives it back. @param error what it was last seen to fail with, if it did */
  release(error?: unknown): void;
}

export interface Answer {
  readonly rows: Row[];
  /** How many rows were written or read. */
  readonly count: number;
  /** What was executed: `COMMIT`, `INSERT`, ... */
  readonly command: string;
}

/** Of a caller whose statements may take longer than those of an exchange. */
export type Patience = "patient" | undefined;

export class Connections {
  readonly #pool: Pool;
  readonly #names = new Map<string, string>();

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
      types: { getTypeParser },
    });
    // A connection that breaks tells whoever uses it; unheard, the event would end the process.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  /** @throws an error of the driver when there is none, none is free in time, or it is refused */
  async take(patience?: Patience): Promise<Connection> {
    const client = await this.#pool.connect();
    const bound = patience === "patient" ? { query_timeout: PATIENT_ANSWER_MS_MAX } : {};
    return {
      query: async (sql, values) => {
        const query = { ...this.#toQuery(sql, values), ...bound };
        const { rows, rowCount, command } = await client.query(query);
        return { rows, count: rowCount ?? 0, command };
      },
      release: (error) => client.release(error !== undefined && breaksConnection(error)),
    };
  }

  /** Waits for those that are in use. */
  end(): Promise<void> {
    return this.#pool.end();
  }

  #toQuery(text: string, values: readonly SqlValue[] | undefined) {
    if (values === undefined) return { text };
    const name = this.#nameOf(text);
    return { text, values: [...values], ...(name === undefined ? {} : { name }) };
  }

  /** Statements with a name are prepared once for each connection. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = `countersign_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

function getTypeParser(...[oid, format]: Parameters<typeof types.getTypeParser>) {
  return NUMERIC_OIDS.has(oid) ? toNumber : types.getTypeParser(oid, format);
}

function toNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError("a stored number is too large");
}
