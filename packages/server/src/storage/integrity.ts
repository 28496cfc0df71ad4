/**
 * Authenticates stored rows: requests and audit entries carry a MAC (HMAC-SHA-256). The database
 * stores its key only encrypted, so write access to the database is not sufficient to create or
 * change a row. One object for each open database; its readers and transactions share it.
 *
 * @see docs/decisions/0026-authenticated-rows.md
 */

import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import { timeOfId } from "@countersign/protocol";
import { RecentlyUsed } from "../recently-used.ts";
import type { SqlValue } from "./sql-value.ts";

export type CheckedTable = "request" | "audit_entry" | "policy_version" | "policy_proposal";

/** A row that the server did not write. */
export interface IntegrityFailure {
  readonly table: CheckedTable;
  readonly projectId: string;
  readonly id: string;
}

/** The row key of the database, and the time from which rows have MACs. */
export interface RowKey {
  readonly key: Uint8Array;
  /** Epoch ms. A row with a later id has a MAC, or a server did not write it. */
  readonly since: number;
}

type AuthenticatedTable = "request" | "audit_entry";

/** 128 bits. */
const MAC_BYTES = 16;

/** Rows are read repeatedly. Each of this many latest rows is reported once. */
const REPORTED_MAX = 1_000;

export class Integrity {
  /** Receives each row once. */
  onFailure: (failure: IntegrityFailure) => void = () => {};
  readonly #reported = new RecentlyUsed<string, true>(REPORTED_MAX);
  #keys: Readonly<Record<AuthenticatedTable, KeyObject>> | undefined;
  #since = 0;
  #isSkipped = false;

  /** Sets the row key of the database. Before that, no row can be written or verified. */
  useKey({ key, since }: RowKey): void {
    this.#keys = { request: deriveKey(key, "request"), audit_entry: deriveKey(key, "audit_entry") };
    this.#since = since;
  }

  /** For read-only commands without the secret key: rows are accepted without MAC verification. */
  skipMacs(): void {
    this.#isSkipped = true;
  }

  /** Epoch ms; see {@link RowKey}. */
  get since(): number {
    return this.#since;
  }

  /** @param values of the columns, always in the same order; each table has its own key */
  macOf(table: AuthenticatedTable, values: readonly SqlValue[]): string {
    return this.#hash(table, values).toString("base64url");
  }

  isAuthentic(table: AuthenticatedTable, values: readonly SqlValue[], mac: SqlValue): boolean {
    if (this.#keys === undefined && this.#isSkipped) return true;
    const provided = Buffer.from(String(mac), "base64url");
    return provided.length === MAC_BYTES && timingSafeEqual(provided, this.#hash(table, values));
  }

  /**
   * True when a row with this id may be older than MACs.
   *
   * @param writtenAt its last write, epoch ms, if known
   */
  mayLackMac(id: string, writtenAt = 0): boolean {
    if (this.#keys === undefined && this.#isSkipped) return true;
    const time = timeOfId(id);
    return time !== undefined && time <= this.#since && writtenAt <= this.#since;
  }

  report(failure: IntegrityFailure): void {
    const name = JSON.stringify([failure.table, failure.projectId, failure.id]);
    if (this.#reported.get(name) !== undefined) return;
    this.#reported.set(name, true);
    this.onFailure(failure);
  }

  #hash(table: AuthenticatedTable, values: readonly SqlValue[]): Buffer {
    if (this.#keys === undefined) throw new Error("no row key is set");
    const hmac = createHmac("sha256", this.#keys[table]).update(encode(values));
    // Not as a buffer: it would be garbage outside of the heap of V8 (Node 24.21).
    return Buffer.from(hmac.digest("binary"), "binary").subarray(0, MAC_BYTES);
  }
}

/** With lengths, so that different lists never have the same text; null differs from empty text. */
function encode(values: readonly SqlValue[]): string {
  let text = "";
  for (const value of values) {
    const content = value === null ? undefined : String(value);
    text += content === undefined ? "-;" : `${content.length}:${content};`;
  }
  return text;
}

function deriveKey(key: Uint8Array, table: AuthenticatedTable): KeyObject {
  const derived = hkdfSync("sha256", key, "", `countersign row ${table}`, 32);
  // A key object, because raw bytes take several times as long (Node 24.21).
  return createSecretKey(Buffer.from(derived));
}
