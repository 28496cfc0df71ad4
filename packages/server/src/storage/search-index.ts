/**
 * The full-text index of requests: FTS5 in SQLite, tsvector in PostgreSQL. The server splits texts
 * into words (core/search-words.ts), so that both engines find the same. The index finds
 * candidates, which the search checks against the request.
 */

import type { IndexTerm } from "../core/search-words.ts";
import type { Engine } from "./read-migrations.ts";
import type { RowKey } from "./sql/keys.ts";
import type { SqlValue } from "./sql-value.ts";

export interface SearchedDocument extends RowKey {
  /** Each word once. */
  readonly words: readonly string[];
}

/** A word that no text contains: the index finds the documents of one project by it. */
export function projectWord(projectId: string): string {
  return `project:${projectId}`;
}

export interface DocumentQuery {
  readonly projectId: string;
  /** A document contains all of them; at least one. */
  readonly terms: readonly IndexTerm[];
  /** Only documents before this one. */
  readonly before: number;
  readonly limit: number;
}

export interface FoundDocument {
  readonly document: number;
  readonly requestId: string;
}

type Values = readonly SqlValue[];
type Row = Readonly<Record<string, SqlValue>>;

/** The part of a reader that the index uses. */
export interface IndexReader {
  all(sql: string, values?: Values): Promise<Row[]>;
}

/** The part of a transaction that the index uses. */
export interface IndexWriter {
  get(sql: string, values?: Values): Promise<Row | undefined>;
  run(sql: string, values?: Values): Promise<number>;
}

export interface SearchIndex {
  readonly engine: Engine;

  /**
   * Adds documents in their order, or replaces their words; nothing for a request that was purged.
   * The caller limits their number, because PostgreSQL receives them in one message.
   * The caller has locked the progress of the project.
   */
  put(tx: IndexWriter, documents: readonly SearchedDocument[]): Promise<void>;

  remove(tx: IndexWriter, key: RowKey): Promise<void>;

  /** The latest document first. */
  find(reader: IndexReader, query: DocumentQuery): Promise<FoundDocument[]>;
}
