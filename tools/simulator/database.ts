/**
 * The database that the replicas share: a real SQLite with the product's own schema, in which the
 * world decides who commits next. One transaction is under way at a time, as behind one lock; who
 * waits too long for it, or keeps others waiting, is cut off, as PostgreSQL does it.
 *
 * What this leaves out: two transactions of PostgreSQL that are under way together. The races
 * tests run those on the real engine.
 *
 * Called by: run-seed.ts; the stores of the replicas.
 */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@countersign/server/clock";
import { Failure } from "@countersign/server/failure";
import { migrate } from "@countersign/server/storage/migrate";
import { readMigrations } from "@countersign/server/storage/read-migrations";
import { openDatabase } from "@countersign/server/storage/sqlite/open-database";
import { SqliteStore } from "@countersign/server/storage/sqlite/sqlite-store";
import { Statements } from "@countersign/server/storage/sqlite/statements";
import type { Row, SqlValue } from "@countersign/server/storage/store";
import type { Actor, World } from "./world.ts";

/** As storage/postgres/connections.ts sets them. */
const STATEMENT_MS_MAX = 10_000;
const IDLE_MS_MAX = 15_000;

/** A transaction that was committed. */
export interface Committed {
  readonly actor: Actor;
  /** Tables that were written to. */
  readonly tables: ReadonlySet<string>;
  /** The latest time at any of its statements, by the database's clock, epoch ms. */
  readonly lastAt: number;
  /** The time as it was read last, epoch ms. */
  readonly timeReadAt: number;
}

/** One that is under way. */
export interface Session {
  readonly actor: Actor;
  readonly tables: Set<string>;
  /** {@link World.elapsedMs} of its last statement. */
  touchedAt: number;
  /** The latest time so far, by the database's clock. */
  lastAt: number;
  /** The time as it was read last. */
  timeReadAt: number;
  /** The engine has undone it. */
  isCutOff: boolean;
}

interface Waiting {
  readonly actor: Actor;
  readonly since: number;
  readonly enter: (session: Session) => void;
  readonly refuse: (failure: Failure) => void;
}

const WRITES = /^\s*(?:insert into|update|delete from)\s+(\w+)/i;

export class Database {
  readonly #world: World;
  readonly #writer: ReturnType<typeof openDatabase>;
  readonly #writing: Statements;
  readonly #reader: ReturnType<typeof openDatabase>;
  readonly #reading: Statements;
  readonly #file: string;
  #session: Session | undefined;
  #waiting: Waiting[] = [];
  /** How many commits changed something. */
  commits = 0;
  /** Told of every commit that wrote. */
  onCommit: (committed: Committed) => void = () => {};
  /** Told of every statement outside and inside of transactions, when it is run. */
  onStatement: (actor: Actor, sql: string, values: readonly SqlValue[]) => void = () => {};

  constructor(world: World, template: Template) {
    this.#world = world;
    this.#file = template.copy();
    this.#writer = openDatabase(this.#file);
    this.#reader = openDatabase(this.#file);
    // No power is lost here; the syncs would only cost time.
    for (const each of [this.#writer, this.#reader]) each.exec("pragma synchronous = off");
    this.#writing = new Statements(this.#writer);
    this.#reading = new Statements(this.#reader);
  }

  /** Whether no transaction is under way. */
  get isIdle(): boolean {
    return this.#session === undefined;
  }

  /** What is committed; looking at it this way is no turn of anybody. */
  look(sql: string, values: readonly SqlValue[] = []): Row[] {
    return this.#reading.all(sql, values);
  }

  read(actor: Actor, sql: string, values: readonly SqlValue[]): Row[] {
    this.onStatement(actor, sql, values);
    return this.#reading.all(sql, values);
  }

  /** Resolves when the transaction has begun. @throws Failure when it waits for too long */
  begin(actor: Actor): Promise<Session> {
    return new Promise((enter, refuse) => {
      this.#waiting.push({ actor, since: this.#world.elapsedMs, enter, refuse });
      this.#admit();
    });
  }

  /** @throws Failure when it was cut off */
  run<T>(session: Session, work: (statements: Statements) => T): T {
    this.#assertOpen(session);
    session.touchedAt = this.#world.elapsedMs;
    // The clock may have been set back since.
    session.lastAt = Math.max(session.lastAt, this.#world.now);
    return work(this.#writing);
  }

  all(session: Session, sql: string, values: readonly SqlValue[]): Row[] {
    this.onStatement(session.actor, sql, values);
    const table = WRITES.exec(sql)?.[1];
    if (table !== undefined) session.tables.add(table);
    return this.run(session, (statements) => statements.all(sql, values));
  }

  change(session: Session, sql: string, values: readonly SqlValue[] = []): number {
    this.onStatement(session.actor, sql, values);
    const changed = this.run(session, (statements) => statements.run(sql, values));
    const table = WRITES.exec(sql)?.[1];
    if (changed > 0 && table !== undefined) session.tables.add(table);
    return changed;
  }

  /** @returns the time, epoch ms */
  now(session: Session): number {
    session.timeReadAt = this.run(session, () => this.#world.now);
    return session.timeReadAt;
  }

  /** @throws Failure when it was cut off before */
  commit(session: Session): void {
    this.#assertOpen(session);
    this.#writer.exec("commit");
    this.#session = undefined;
    const { actor, tables, lastAt, timeReadAt } = session;
    if (tables.size > 0) {
      this.commits++;
      this.onCommit({ actor, tables, lastAt, timeReadAt });
    }
    this.#admit();
  }

  rollback(session: Session): void {
    if (session.isCutOff) return;
    session.isCutOff = true;
    this.#writer.exec("rollback");
    this.#session = undefined;
    this.#admit();
  }

  /** Ends what the dead have left, and what lasts too long. */
  tidyUp(): void {
    const { elapsedMs } = this.#world;
    const session = this.#session;
    if (session !== undefined) {
      const isIdle = elapsedMs - session.touchedAt > IDLE_MS_MAX;
      if (!session.actor.isAlive || isIdle) {
        this.#world.note(session.actor, "its transaction is cut off");
        this.rollback(session);
      }
    }
    const late = this.#waiting.filter(({ since }) => elapsedMs - since > STATEMENT_MS_MAX);
    this.#waiting = this.#waiting.filter((each) => each.actor.isAlive && !late.includes(each));
    for (const { refuse } of late) refuse(new Failure("store", "waited too long for a lock"));
  }

  close(): void {
    this.#reader.close();
    this.#writer.close();
    for (const part of ["", "-wal", "-shm"]) rmSync(this.#file + part, { force: true });
  }

  #admit(): void {
    while (this.#session === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.actor.isAlive) continue;
      this.#writer.exec("begin immediate");
      const { elapsedMs, now } = this.#world;
      const tables = new Set<string>();
      const session = { actor: next.actor, tables, isCutOff: false };
      this.#session = { ...session, touchedAt: elapsedMs, lastAt: now, timeReadAt: 0 };
      next.enter(this.#session);
    }
  }

  #assertOpen(session: Session): void {
    if (session.isCutOff) throw new Failure("store", "the transaction was cut off");
  }
}

/** An empty database with the schema of this program, to be copied for every run. */
export class Template {
  readonly #directory: string;
  #copies = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async make(): Promise<Template> {
    const template = new Template(mkdtempSync(join(tmpdir(), "countersign-simulation-")));
    const store = new SqliteStore(template.#file, systemClock);
    await migrate(store, readMigrations(), systemClock);
    await store.close();
    return template;
  }

  get #file(): string {
    return join(this.#directory, "template.db");
  }

  copy(): string {
    const copy = join(this.#directory, `${++this.#copies}.db`);
    copyFileSync(this.#file, copy);
    return copy;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true });
  }
}
