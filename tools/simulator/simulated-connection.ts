/**
 * A connection as PostgreSQL's: what is asked in one turn travels as one batch, a statement that
 * is refused spoils its transaction, and one that breaks leaves a COMMIT without an answer. Behind
 * it is the one database of the simulation.
 *
 * Called by: grouped-store.ts, which hands it to the product's own runs of transactions.
 */

import type { Connection } from "@countersign/server/storage/postgres/connections";
import { shareReads } from "@countersign/server/storage/postgres/shared-reads";
import type { Answer, Kind, Statement } from "@countersign/server/storage/postgres/statement-batch";
import type { SqlValue } from "@countersign/server/storage/store";
import { DatabaseError } from "pg";
import type { Session } from "./database.ts";
import { type StoreParts, shortOf } from "./simulated-store.ts";
import type { Actor } from "./world.ts";

/** What asks for the time; it is not read from the engine. */
export const TIME = "select the time";

const LOCK = /\s+for (?:update|share)(?<nowait> nowait)?\s*$/;

const ANSWERS_ROWS = /^\s*(?:select|with)\b|\breturning\b/i;

const DEADLOCK = "40P01";
const LOCK_NOT_AVAILABLE = "55P03";
const SESSION_ENDED = "25P03";
const TRANSACTION_FAILED = "25P02";
const DISK_FULL = "53100";
const CONSTRAINT = "23000";

/** How likely it is that something else happens between two statements of one batch. */
const BETWEEN = 0.2;

/** It goes on with what was sent, whatever becomes of who sent it. */
const SERVER: Actor = { name: "database", isAlive: true, isFrozen: false };

export class SimulatedConnection implements Connection {
  readonly #parts: StoreParts;
  readonly #session: Session;
  #waiting: Statement[] = [];
  /** Batches are answered in the order in which they were sent. */
  #last: Promise<void> = Promise.resolve();
  #isBroken = false;
  /** A statement was refused: nothing behind it is done. */
  #isSpoilt = false;
  #isOver = false;

  constructor(parts: StoreParts, session: Session) {
    this.#parts = parts;
    this.#session = session;
  }

  query(kind: Kind, text: string, values: readonly SqlValue[] = []): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (this.#waiting.length === 0) process.nextTick(() => this.#send());
    this.#waiting.push({ kind, text, values, name: undefined, resolve, reject });
    return promise;
  }

  release(error?: unknown): void {
    const { world, database } = this.#parts;
    const isKnown = this.#isOver || this.#isBroken || error !== undefined;
    world.assert(isKnown, "bug", () => "a connection was given back in its transaction");
    database.rollback(this.#session);
  }

  discard(): void {
    this.#isBroken = true;
    this.#parts.database.rollback(this.#session);
  }

  #send(): void {
    const statements = shareReads(this.#waiting);
    this.#waiting = [];
    this.#last = this.#last.then(() => this.#play(statements));
  }

  async #play(statements: readonly Statement[]): Promise<void> {
    const { world, actor } = this.#parts;
    const [first, ...others] = statements;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    await world.turn(actor, `sends ${shortOf(first?.text ?? "")}${more}`);
    const answers: Answer[] = [];
    let failure: unknown;
    for (const statement of statements) {
      if (answers.length > 0 && world.draw.happens(BETWEEN)) {
        await world.turn(SERVER, `comes to ${shortOf(statement.text)} of ${actor.name}`);
      }
      try {
        answers.push(this.#execute(statement));
      } catch (error) {
        failure = error;
        break;
      }
    }
    if (world.draw.happens(0.5)) await world.turn(actor, `is answered ${answers.length}`);
    for (const [i, { resolve, reject }] of statements.entries()) {
      const answer = answers[i];
      if (answer === undefined) reject(failure);
      else resolve(answer);
    }
  }

  #execute({ text, values }: Statement): Answer {
    if (this.#isBroken) throw new Error("the connection is closed");
    if (text.startsWith("begin")) return done("BEGIN");
    if (text === "rollback") return this.#rollBack();
    if (text === "commit") return this.#isSpoilt ? this.#rollBack() : this.#commit();
    if (this.#isSpoilt) throw refusal(TRANSACTION_FAILED);
    this.#fail(text);
    try {
      return this.#run(text, values);
    } catch (error) {
      if (this.#session.isCutOff) throw this.#break(refusal(SESSION_ENDED));
      this.#isSpoilt = true;
      throw refusal(CONSTRAINT, error instanceof Error ? error.message : String(error));
    }
  }

  #run(text: string, values: readonly SqlValue[]): Answer {
    const { database } = this.#parts;
    if (text === TIME) return { rows: [{ now: database.now(this.#session) }], ...ONE_READ };
    const sql = text.replace(LOCK, "");
    if (ANSWERS_ROWS.test(sql)) {
      const rows = database.all(this.#session, sql, values);
      return { rows, count: rows.length, command: "SELECT" };
    }
    const count = database.change(this.#session, sql, values);
    return { rows: [], count, command: "WRITE" };
  }

  /** What may go wrong at a statement. */
  #fail(text: string): void {
    const { world, faults, actor } = this.#parts;
    const { draw } = world;
    if (draw.happens(faults().statement)) {
      if (draw.happens(0.5)) throw this.#break(new Error("the connection broke"));
      world.note(actor, "is in a deadlock");
      this.#isSpoilt = true;
      throw refusal(DEADLOCK);
    }
    const isNowait = LOCK.exec(text)?.groups?.nowait !== undefined;
    if (!isNowait || !draw.happens(faults().rerun)) return;
    world.note(actor, "does not get a row that it would have waited for");
    this.#isSpoilt = true;
    throw refusal(LOCK_NOT_AVAILABLE);
  }

  #commit(): Answer {
    const { world, database, faults, actor } = this.#parts;
    const { draw } = world;
    const isAgain = draw.happens(faults().rerun);
    if (isAgain || draw.happens(faults().commitLost)) {
      this.#rollBack();
      throw refusal(isAgain ? DEADLOCK : DISK_FULL);
    }
    try {
      database.commit(this.#session);
    } catch {
      throw this.#break(refusal(SESSION_ENDED));
    }
    this.#isOver = true;
    world.exposed.add(actor);
    if (!draw.happens(faults().commitUnknown)) return done("COMMIT");
    world.note(actor, "its commit came about, and its connection broke");
    throw this.#break(new Error("the connection broke"));
  }

  #rollBack(): Answer {
    this.#isOver = true;
    this.#parts.database.rollback(this.#session);
    return done("ROLLBACK");
  }

  /** @returns what to throw */
  #break(error: unknown): unknown {
    const { world, actor, database } = this.#parts;
    world.note(actor, "the connection breaks");
    this.#isBroken = true;
    if (!this.#isOver) database.rollback(this.#session);
    return error;
  }
}

const ONE_READ = { count: 1, command: "SELECT" };

function done(command: string): Answer {
  return { rows: [], count: 0, command };
}

function refusal(code: string, message = "refused"): DatabaseError {
  const error = new DatabaseError(message, message.length, "error");
  error.code = code;
  return error;
}
