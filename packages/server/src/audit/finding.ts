/** The findings of a verification. It stops at the first one. */

export type Fault =
  /** A row differs from the sealed entry. */
  | "altered"
  /** A row, or a part of an export, is missing. */
  | "missing"
  /** The order of entries differs from the sealed order. */
  | "reordered"
  /** An entry is old enough to be sealed, but is not. */
  | "unsealed"
  /** A check of the entry itself fails. */
  | "entry"
  /** A seal, a tile or the state of the log was altered. */
  | "seal"
  /** A checkpoint does not match its entries. */
  | "checkpoint"
  /** A signature is invalid, or made by another key. */
  | "signature"
  /** The log is shorter than the external checkpoint. */
  | "truncated"
  /** The log has other entries than at the time of the external checkpoint. */
  | "rewritten"
  /** The input is not an export, proof or checkpoint of this log. */
  | "unreadable";

export interface Finding {
  readonly fault: Fault;
  /** Origin of the log, if known. */
  readonly origin?: string | undefined;
  readonly projectId?: string | undefined;
  readonly position?: number | undefined;
  readonly id?: string | undefined;
  readonly kind?: string | undefined;
  /** Epoch ms. */
  readonly at?: number | undefined;
  readonly message: string;
}

/** Stops a verification with a finding. */
export class FindingError extends Error {
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.message);
    this.finding = finding;
  }
}

/** @param ref what is known about the faulty entry */
export function found(
  fault: Fault,
  ref: Omit<Finding, "fault" | "message">,
  message: string,
): FindingError {
  return new FindingError({ fault, ...ref, message });
}
