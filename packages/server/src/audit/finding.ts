/**
 * What is wrong with a log, as the verification names it: the first thing it meets.
 */

export type Fault =
  /** A row is not what was sealed. */
  | "altered"
  /** A row is gone, or a part of an export. */
  | "missing"
  /** Entries stand in another order than they were sealed in. */
  | "reordered"
  /** An entry is old enough to be sealed, and is not. */
  | "unsealed"
  /** A check of the entry itself fails. */
  | "entry"
  /** A seal, a tile or the state of the log is not what was written. */
  | "seal"
  /** A checkpoint does not fit what it covers. */
  | "checkpoint"
  /** A signature is wrong, or by another key. */
  | "signature"
  /** The log is shorter than the checkpoint that was kept elsewhere. */
  | "truncated"
  /** The log had other entries when the checkpoint was made that was kept elsewhere. */
  | "rewritten"
  /** What was given is no export, no proof or no checkpoint of this log. */
  | "unreadable";

export interface Finding {
  readonly fault: Fault;
  /** Of the log, where it is known. */
  readonly origin?: string;
  readonly projectId?: string;
  readonly position?: number;
  readonly id?: string;
  readonly kind?: string;
  /** Epoch ms. */
  readonly at?: number;
  readonly message: string;
}

/** Ends a verification. */
export class FindingError extends Error {
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.message);
    this.finding = finding;
  }
}
