/**
 * Connections as PostgreSQL's: what is asked in one turn travels as one batch, a statement that
 * is refused spoils its transaction, and one that breaks leaves a COMMIT without an answer. Behind
 * them is the one database of the simulation.
 */

import { DatabaseError } from "pg";
import { Failure } from "../../packages/server/src/failure.ts";
import type {
  Connection,
  ConnectionSource,
} from "../../packages/server/src/storage/postgres/connections.ts";
import { deduplicateReads } from "../../packages/server/src/storage/postgres/deduplicate-reads.ts";
import { TIME_QUERY } from "../../packages/server/src/storage/postgres/postgres-store.ts";
import type {
  Answer,
  Kind,
  Statement,
} from "../../packages/server/src/storage/postgres/statement-batch.ts";
import type { Row, SqlValue } from "../../packages/server/src/storage/store.ts";
import type { Database, Session } from "./database.ts";
import type { Faults } from "./faults.ts";
import type { Actor, World } from "./world.ts";

export interface ConnectionParts {
  readonly world: World;
  readonly database: Database;
  readonly actor: Actor;
  readonly faults: () => Faults;
}

const LOCK = /\s+for (?:update|share)(?<nowait> nowait)?\s*$/;

const RETURNS_ROWS = /\breturning\b/i;

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

export class SimulatedConnections implements ConnectionSource {
  readonly #parts: ConnectionParts;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  async take(): Promise<Connection> {
    const { world, actor, faults } = this.#parts;
    // To be given one at once is a schedule like another, and a turn less.
    if (world.draw.happens(world.awaitsReads)) await world.turn(actor, "takes a connection");
    if (world.draw.happens(faults().statement)) {
      world.note(actor, "gets none");
      throw new Failure("store", "there is no connection");
    }
    return new SimulatedConnection(this.#parts);
  }

  count() {
    return { used: 0, idle: 0, waiting: 0 };
  }

  async end(): Promise<void> {}
}

class SimulatedConnection implements Connection {
  readonly #parts: ConnectionParts;
  /** Its transaction; undefined before BEGIN. */
  #session: Session | undefined;
  #waiting: Statement[] = [];
  /** Batches are answered in the order in which they were sent. */
  #last: Promise<void> = Promise.resolve();
  #isBroken = false;
  /** A statement was refused: nothing behind it is done. */
  #isSpoilt = false;
  #isOver = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  query(kind: Kind, text: string, values: readonly SqlValue[] = []): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (this.#waiting.length === 0) process.nextTick(() => this.#send());
    this.#waiting.push({ kind, text, values, name: undefined, resolve, reject });
    return promise;
  }

  release(error?: unknown): void {
    const isIdle = this.#session === undefined || this.#isOver || this.#isBroken;
    const isKnown = isIdle || error !== undefined;
    const message = () => "a connection was given back in its transaction";
    this.#parts.world.assert(isKnown, "bug", message);
    this.#end();
  }

  discard(): void {
    this.#isBroken = true;
    this.#end();
  }

  #send(): void {
    const statements = deduplicateReads(this.#waiting);
    this.#waiting = [];
    this.#last = this.#last.then(() => this.#play(statements));
  }

  async #play(statements: readonly Statement[]): Promise<void> {
    const { world, actor } = this.#parts;
    const [first, ...others] = statements;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    const awaitsTurn = this.#session !== undefined || first?.kind !== "read";
    if (awaitsTurn || world.draw.happens(world.awaitsReads)) {
      await world.turn(actor, `sends ${shortOf(first?.text ?? "")}${more}`);
    }
    const answers: Answer[] = [];
    let failure: unknown;
    for (const statement of statements) {
      if (answers.length > 0 && world.draw.happens(BETWEEN)) {
        await world.turn(SERVER, `comes to ${shortOf(statement.text)} of ${actor.name}`);
      }
      try {
        answers.push(await this.#execute(statement));
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

  async #execute(statement: Statement): Promise<Answer> {
    const { text } = statement;
    if (this.#isBroken) throw new Error("the connection is closed");
    if (text.startsWith("begin")) return this.#begin();
    if (text === "rollback") return this.#rollBack();
    if (text === "commit") return this.#isSpoilt ? this.#rollBack() : this.#commit();
    if (this.#isSpoilt) throw refusal(TRANSACTION_FAILED);
    this.#fail(text);
    try {
      return this.#run(statement);
    } catch (error) {
      if (this.#session?.isCutOff) throw this.#break(refusal(SESSION_ENDED));
      this.#isSpoilt = true;
      throw refusal(CONSTRAINT, error instanceof Error ? error.message : String(error));
    }
  }

  async #begin(): Promise<Answer> {
    const { database, actor } = this.#parts;
    this.#session = await database.begin(actor);
    return done("BEGIN");
  }

  #run({ kind, text, values }: Statement): Answer {
    const { database, actor } = this.#parts;
    const session = this.#session;
    if (session === undefined) return found(database.read(actor, text, values));
    if (text === TIME_QUERY) return found([{ now: database.now(session) }]);
    if (kind !== "write") return found(database.all(session, text.replace(LOCK, ""), values));
    if (RETURNS_ROWS.test(text)) return found(database.all(session, text, values));
    return { rows: [], count: database.change(session, text, values), command: "WRITE" };
  }

  /** Faults that can occur at a statement. */
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
      database.commit(this.#session as Session);
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
    this.#end();
    return done("ROLLBACK");
  }

  #end(): void {
    if (this.#session !== undefined) this.#parts.database.rollback(this.#session);
  }

  /** @returns what to throw */
  #break(error: unknown): unknown {
    const { world, actor } = this.#parts;
    world.note(actor, "the connection breaks");
    this.#isBroken = true;
    if (!this.#isOver) this.#end();
    return error;
  }
}

function found(rows: Row[]): Answer {
  return { rows, count: rows.length, command: "SELECT" };
}

function done(command: string): Answer {
  return { rows: [], count: 0, command };
}

function refusal(code: string, message = "refused"): DatabaseError {
  const error = new DatabaseError(message, message.length, "error");
  error.code = code;
  return error;
}

const shorts = new Map<string, string>();

/** Enough of a statement to know it by. */
function shortOf(sql: string): string {
  const known = shorts.get(sql);
  if (known !== undefined) return known;
  const short = sql.trim().replace(/\s+/g, " ").slice(0, 60);
  shorts.set(sql, short);
  return short;
}
