/**
 * The database that the replicas share: a real SQLite with the product's own schema, in which the
 * world decides who commits next. One transaction is under way at a time, as behind one lock; who
 * waits too long for it, or keeps others waiting, is cut off, as PostgreSQL does it.
 *
 * Not simulated: two transactions of PostgreSQL that are under way together. The races
 * tests run those on the real engine.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../packages/server/src/clock.ts";
import { Failure } from "../../packages/server/src/failure.ts";
import { migrate } from "../../packages/server/src/storage/migrate.ts";
import { readMigrations } from "../../packages/server/src/storage/read-migrations.ts";
import { openDatabase } from "../../packages/server/src/storage/sqlite/open-database.ts";
import { SqliteStore } from "../../packages/server/src/storage/sqlite/sqlite-store.ts";
import { Statements } from "../../packages/server/src/storage/sqlite/statements.ts";
import type { Row, SqlValue } from "../../packages/server/src/storage/store.ts";
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
  /** As it was read first after a statement that wrote this id to a request. */
  readonly readAfter: ReadonlyMap<string, number>;
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
  readonly readAfter: Map<string, number>;
  /** Written to requests since it was read last. */
  readonly unread: Set<string>;
  /** The engine has undone it. */
  isCutOff: boolean;
}

interface Waiting {
  readonly actor: Actor;
  readonly since: number;
  readonly enter: (session: Session) => void;
  readonly refuse: (failure: Failure) => void;
}

const NOTHING: ReadonlySet<string> = new Set();

const WRITES = /^\s*(?:insert into|update|delete from)\s+(\w+)/i;

const written = new Map<string, string | undefined>();

function tableWritten(sql: string): string | undefined {
  if (!written.has(sql)) written.set(sql, WRITES.exec(sql)?.[1]);
  return written.get(sql);
}

export class Database {
  readonly #world: World;
  readonly #template: Template;
  readonly #writing: Statements;
  readonly #reading: Statements;
  #session: Session | undefined;
  #waiting: Waiting[] = [];
  /** How many commits changed something. */
  commits = 0;
  /** Called for every commit that wrote. */
  onCommit: (committed: Committed) => void = () => {};
  /** Called for every statement outside and inside of transactions, when it is run. */
  onStatement: (actor: Actor, sql: string, values: readonly SqlValue[]) => void = () => {};

  constructor(world: World, template: Template) {
    this.#world = world;
    this.#template = template;
    const { writing, reading } = template.lend();
    [this.#writing, this.#reading] = [writing, reading];
  }

  /** Of the transaction that is under way: what it has written to requests and is not committed. */
  get deciding(): ReadonlySet<string> {
    const session = this.#session;
    if (session === undefined || !session.tables.has("request")) return NOTHING;
    return new Set([...session.unread, ...session.readAfter.keys()]);
  }

  /** Whether no transaction is under way. */
  get isIdle(): boolean {
    return this.#session === undefined;
  }

  /** Reads committed rows without a turn. */
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
    const table = tableWritten(sql);
    if (table !== undefined) session.tables.add(table);
    return this.run(session, (statements) => statements.all(sql, values));
  }

  change(session: Session, sql: string, values: readonly SqlValue[] = []): number {
    this.onStatement(session.actor, sql, values);
    const changed = this.run(session, (statements) => statements.run(sql, values));
    const table = tableWritten(sql);
    if (changed === 0 || table === undefined) return changed;
    session.tables.add(table);
    if (table !== "request") return changed;
    for (const value of values) if (typeof value === "string") session.unread.add(value);
    return changed;
  }

  /** @returns the time, epoch ms */
  now(session: Session): number {
    const now = this.run(session, () => this.#world.now);
    session.timeReadAt = now;
    for (const id of session.unread) session.readAfter.set(id, now);
    session.unread.clear();
    return now;
  }

  /** @throws Failure when it was cut off before */
  commit(session: Session): void {
    this.#assertOpen(session);
    this.#writing.run("commit");
    this.#session = undefined;
    const { actor, tables, lastAt, timeReadAt, readAfter } = session;
    if (tables.size > 0) {
      this.commits++;
      this.onCommit({ actor, tables, lastAt, timeReadAt, readAfter });
    }
    this.#admit();
  }

  rollback(session: Session): void {
    if (session.isCutOff || session !== this.#session) return;
    session.isCutOff = true;
    this.#writing.run("rollback");
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
    this.#template.giveBack();
  }

  #admit(): void {
    while (this.#session === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.actor.isAlive) continue;
      this.#writing.run("begin immediate");
      const { elapsedMs, now } = this.#world;
      this.#session = {
        actor: next.actor,
        tables: new Set(),
        isCutOff: false,
        touchedAt: elapsedMs,
        lastAt: now,
        timeReadAt: 0,
        readAfter: new Map(),
        unread: new Set(),
      };
      next.enter(this.#session);
    }
  }

  #assertOpen(session: Session): void {
    if (session.isCutOff) throw new Failure("store", "the transaction was cut off");
  }
}

/**
 * An empty database with the schema of this program, in which one run after another is played. To
 * empty it costs a hundredth of what a new one does, whose statements are prepared anew.
 */
export class Template {
  readonly #directory: string;
  readonly #writer: ReturnType<typeof openDatabase>;
  readonly #reader: ReturnType<typeof openDatabase>;
  readonly #writing: Statements;
  readonly #reading: Statements;
  readonly #emptying: readonly string[];
  /** The initial rows of the schema's tables. */
  readonly #first: readonly (readonly [sql: string, values: readonly SqlValue[]])[];
  #isLent = false;

  private constructor(directory: string, file: string) {
    this.#directory = directory;
    this.#writer = openDatabase(file);
    this.#reader = openDatabase(file);
    // No power is lost here; the syncs would only cost time.
    for (const each of [this.#writer, this.#reader]) each.exec("pragma synchronous = off");
    this.#writing = new Statements(this.#writer);
    this.#reading = new Statements(this.#reader);
    const named = this.#reading.all("select name from sqlite_schema where type = 'table'");
    const tables = named
      .map(({ name }) => String(name))
      .filter((name) => !/^(sqlite|search_words)_/.test(name));
    this.#emptying = tables.map((table) => `delete from ${table}`);
    this.#first = tables.flatMap((table) => {
      return this.#reading.all(`select * from ${table}`).map((row) => {
        const places = Object.keys(row).map((_, i) => `$${i + 1}`);
        const sql = `insert into ${table} (${Object.keys(row)}) values (${places})`;
        return [sql, Object.values(row)] as const;
      });
    });
  }

  static async make(): Promise<Template> {
    const directory = mkdtempSync(join(tmpdir(), "countersign-simulation-"));
    const file = join(directory, "simulated.db");
    const store = new SqliteStore(file, systemClock);
    await migrate(store, readMigrations(), systemClock);
    await store.close();
    return new Template(directory, file);
  }

  /** Until {@link giveBack}. @throws Error when it is lent already */
  lend(): TemplateParts {
    if (this.#isLent) throw new Error("two runs cannot have one database");
    this.#isLent = true;
    return { writing: this.#writing, reading: this.#reading };
  }

  /** Empty again, whatever was under way in it. */
  giveBack(): void {
    if (this.#writer.isTransaction) this.#writer.exec("rollback");
    this.#writer.exec("pragma foreign_keys = off; begin immediate");
    for (const sql of this.#emptying) this.#writing.run(sql);
    for (const [sql, values] of this.#first) this.#writing.run(sql, values);
    this.#writer.exec("commit; pragma foreign_keys = on");
    this.#isLent = false;
  }

  remove(): void {
    this.#reader.close();
    this.#writer.close();
    rmSync(this.#directory, { recursive: true });
  }
}

interface TemplateParts {
  readonly writing: Statements;
  readonly reading: Statements;
}
