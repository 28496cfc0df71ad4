/**
 * Statements that are sent to PostgreSQL in one message and answered in one: their results arrive
 * when all of them have run. After a failed statement the server skips the rest.
 *
 * The cost of database access is mostly the number of messages, and the description of a known
 * result. The driver sends and describes each statement separately, so this implements the protocol
 * itself with the driver's interface for that (as its cursors do).
 *
 * @see PostgreSQL, Frontend/Backend Protocol: Extended Query, Pipelining
 */

import { type PoolClient, Query, types } from "pg";
import { serialize } from "pg-protocol";
import type { Row, SqlValue } from "../store.ts";

export interface Answer {
  readonly rows: Row[];
  /** Number of written or read rows. */
  readonly count: number;
  /** The executed command: `COMMIT`, `INSERT`, ... */
  readonly command: string;
}

/** The kind of a statement, as its caller declares it. A locking read waits for its row. */
export type Kind = "read" | "lock" | "write";

export interface Statement {
  readonly kind: Kind;
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** Prepared once for a connection with this name; undefined for texts with many variants. */
  readonly name: string | undefined;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** The prepared statements of a connection, by name. */
export type Prepared = Map<string, Preparation>;

interface Preparation {
  /** That it answers with. */
  columns: readonly Column[];
  uses: number;
  /** After so many uses. */
  renewAt: number;
}

/**
 * PostgreSQL keeps a plan for as long as the statement is prepared or until a table is analyzed,
 * and one that was made for an empty table reads all of a full one: a new database would be slow
 * until its first autovacuum. So each statement is prepared anew after so many uses, and again
 * whenever these have doubled.
 */
const RENEW_AT = 32;

interface Column {
  readonly name: string;
  readonly parse: (text: string) => SqlValue;
}

/** The part of the driver's connection that messages are written to. */
interface Wire {
  readonly stream: { readonly writable: boolean; write(message: Buffer): void };
}

interface Progress {
  columns: readonly Column[];
  readonly rows: Row[];
}

/** The driver's callback for the last answer, or for the end of the connection. */
interface TakingCallback {
  query(batch: StatementBatch, callback: (error: unknown) => void): void;
}

export class StatementBatch extends Query {
  /** Read by the driver: how long it waits for the answer, ms. */
  readonly query_timeout: number | undefined;
  readonly #statements: readonly Statement[];
  readonly #prepared: Prepared;
  readonly #answers: Answer[] = [];
  #current: Progress = { columns: [], rows: [] };
  /** An answer that this program cannot read. */
  #unreadable: unknown;

  constructor(statements: readonly Statement[], prepared: Prepared, patienceMs?: number) {
    super("");
    this.#statements = statements;
    this.#prepared = prepared;
    this.query_timeout = patienceMs;
    this.#begin();
  }

  sendOn(client: PoolClient): void {
    const takingCallback = client as unknown as TakingCallback;
    takingCallback.query(this, (error) => this.#settle(error));
  }

  /** Called by the driver, as all that is public below. */
  override submit = (connection: unknown): null => {
    const { stream } = connection as Wire;
    const parts = this.#statements.flatMap((statement) => this.#partsOf(statement));
    // In one piece: what a write costs counts its pieces.
    if (stream.writable) stream.write(Buffer.concat([...parts, serialize.sync()]));
    return null;
  };

  #partsOf({ text, values, name = "" }: Statement): Buffer[] {
    const parts: Buffer[] = [];
    const preparation = this.#prepared.get(name);
    const isWornOut = preparation !== undefined && preparation.uses >= preparation.renewAt;
    if (isWornOut) preparation.renewAt = 2 * preparation.uses;
    const isKnown = preparation !== undefined && !isWornOut;
    if (!isKnown) {
      // It may be there from an attempt that failed.
      if (name !== "") parts.push(serialize.close({ type: "S", name }));
      parts.push(serialize.parse({ name, text }));
    }
    const texts = values.map((value) => (value === null ? null : String(value)));
    parts.push(serialize.bind({ statement: name, values: texts }));
    if (!isKnown) parts.push(serialize.describe({ type: "P" }));
    parts.push(serialize.execute());
    return parts;
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#current.columns = fields.map(({ name, dataTypeID }) => {
      return { name, parse: parserOf(dataTypeID) };
    });
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, SqlValue> = {};
    const { columns, rows } = this.#current;
    try {
      for (const [i, { name, parse }] of columns.entries()) {
        const text = fields[i] ?? null;
        row[name] = text === null ? null : parse(text);
      }
    } catch (error) {
      this.#unreadable ??= error;
    }
    rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const { rows, columns } = this.#current;
    const name = this.#statements[this.#answers.length]?.name;
    if (name !== undefined) {
      const preparation = this.#prepared.get(name) ?? { columns, uses: 0, renewAt: RENEW_AT };
      preparation.columns = columns;
      preparation.uses++;
      this.#prepared.set(name, preparation);
    }
    // `INSERT 0 1`, `SELECT 3`, `COMMIT`
    const [command = "", ...numbers] = text.split(" ");
    this.#answers.push({ rows, count: Number(numbers.at(-1) ?? 0), command });
    this.#begin();
  }

  /** Of a statement without words. */
  handleEmptyQuery(): void {
    this.#answers.push({ rows: [], count: 0, command: "" });
    this.#begin();
  }

  /** The columns of the next statement are known, or described before its rows. */
  #begin(): void {
    const name = this.#statements[this.#answers.length]?.name ?? "";
    this.#current = { columns: this.#prepared.get(name)?.columns ?? [], rows: [] };
  }

  #settle(failure: unknown): void {
    const error = failure ?? this.#unreadable ?? undefined;
    const answered = this.#answers.length;
    const failed = this.#statements[answered]?.name;
    // After any error, the next use prepares the statement again.
    if (error !== undefined && failed !== undefined) this.#prepared.delete(failed);
    for (const [i, { resolve, reject }] of this.#statements.entries()) {
      const answer = this.#answers[i];
      if (answer !== undefined && this.#unreadable === undefined) resolve(answer);
      else reject(error ?? new Error("a statement was not answered"));
    }
  }
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

const NUMERIC_OIDS: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);

function parserOf(oid: number): Column["parse"] {
  return NUMERIC_OIDS.has(oid) ? toNumber : types.getTypeParser(oid, "text");
}

function toNumber(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError("a stored number is too large");
}
