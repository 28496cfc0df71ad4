/**
 * The committed rows, and the changes of each commit.
 */

import type { Row } from "../../packages/server/src/storage/store.ts";
import type { Committed, Database } from "./database.ts";

/** The key columns of each table. */
const KEYS = {
  request: "id",
  notification: "id",
  instance: "id",
  receiver: "instance_id",
  credential: "id",
  call_freeze: "id",
  policy_version: "number",
} as const;

export type Watched = keyof typeof KEYS;

const WATCHED = Object.keys(KEYS) as Watched[];

/** A row that a commit inserted, changed or deleted. */
export interface Change {
  readonly table: Watched;
  readonly key: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

export interface Commit extends Committed {
  readonly changes: readonly Change[];
  /** Audit entries that it wrote. */
  readonly entries: readonly Row[];
}

export class Snapshot {
  readonly #database: Database;
  readonly #rows = new Map<Watched, Map<string, Row>>(WATCHED.map((table) => [table, new Map()]));
  /** The last entry of the audit log, in the order of writing. */
  #lastEntry = 0;
  #entries = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  get(table: Watched, key: unknown): Row | undefined {
    return this.#rows.get(table)?.get(String(key));
  }

  all(table: Watched): Row[] {
    return [...(this.#rows.get(table)?.values() ?? [])];
  }

  /** Takes a commit over. */
  follow(committed: Committed): Commit {
    const changes = WATCHED.filter((table) => committed.tables.has(table)).flatMap((table) =>
      this.#compare(table),
    );
    const entries = committed.tables.has("audit_entry") ? this.#readEntries() : [];
    return { ...committed, changes, entries };
  }

  /** Whether no entry was taken out of the audit log. */
  get isLogWhole(): boolean {
    const [row] = this.#database.look("select count(*) as n from audit_entry");
    return row?.n === this.#entries;
  }

  #compare(table: Watched): Change[] {
    const rows = this.#rows.get(table) ?? new Map<string, Row>();
    const now = new Map<string, Row>();
    const changes: Change[] = [];
    for (const after of this.#database.look(`select * from ${table}`)) {
      const key = String(after[KEYS[table]]);
      const before = rows.get(key);
      const isSame = before !== undefined && JSON.stringify(before) === JSON.stringify(after);
      now.set(key, isSame ? before : after);
      if (!isSame) changes.push({ table, key, before, after });
    }
    for (const [key, before] of rows) {
      if (!now.has(key)) changes.push({ table, key, before, after: undefined });
    }
    this.#rows.set(table, now);
    return changes;
  }

  #readEntries(): Row[] {
    const sql = "select rowid as place, * from audit_entry where rowid > $1 order by rowid";
    const entries = this.#database.look(sql, [this.#lastEntry]);
    this.#lastEntry = Number(entries.at(-1)?.place ?? this.#lastEntry);
    this.#entries += entries.length;
    return entries;
  }
}
