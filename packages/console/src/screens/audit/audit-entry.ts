/** An entry of the audit log: its members, and its exact text. */

import type { AuditEntry as WireEntry } from "@countersign/review-api";
import { exactText } from "@countersign/review-api/exact";

export interface AuditEntry extends Omit<WireEntry, "detail"> {
  /** Parsed: for words, never for numbers that must be exact. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** The bytes that are sealed. */
  readonly source: string;
  /** The text of `detail` in it. */
  readonly detailSource: string;
}

export function readAuditEntry(entry: WireEntry): AuditEntry {
  return {
    ...entry,
    detail: entry.detail as unknown as Readonly<Record<string, unknown>>,
    source: exactText(entry),
    detailSource: exactText(entry.detail),
  };
}

/** The log of the project, or the log of the whole server. */
export type LogName = "project" | "server";
