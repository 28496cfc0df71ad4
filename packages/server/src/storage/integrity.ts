/**
 * Reports stored rows that fail a check of their content. One object for each open database; the
 * readers and transactions of a store share it.
 *
 * Called by: the functions in storage/sql that check rows.
 */

import { RecentlyUsed } from "../recently-used.ts";

export type CheckedTable = "request" | "audit_entry" | "policy_version" | "policy_proposal";

/** A row that is not what the server wrote. */
export interface IntegrityFailure {
  readonly table: CheckedTable;
  readonly projectId: string;
  readonly id: string;
}

/** A row is read again and again; each of the latest this many is reported once. */
const REPORTED_MAX = 1_000;

export class Integrity {
  /** Receives each row once. */
  onFailure: (failure: IntegrityFailure) => void = () => {};
  readonly #reported = new RecentlyUsed<string, true>(REPORTED_MAX);

  report(failure: IntegrityFailure): void {
    const name = JSON.stringify([failure.table, failure.projectId, failure.id]);
    if (this.#reported.get(name) !== undefined) return;
    this.#reported.set(name, true);
    this.onFailure(failure);
  }
}
