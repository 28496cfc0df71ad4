/**
 * How rows are named. Identifiers are unique by themselves; the project beside them says which
 * shard of a distributed database has the row, so that a statement goes to that one alone.
 */

/** The project of rows that hold for all projects. */
export const SERVER = "";

export interface RowKey {
  readonly projectId: string;
  readonly id: string;
}

export interface InstanceKey {
  readonly projectId: string;
  readonly instanceId: string;
}

/** An Idempotency-Key of a provisioning account or a reviewer. */
export interface ScopedKey {
  readonly projectId: string;
  /** Operation and whose key it is. */
  readonly scope: string;
  readonly keyHash: string;
}
