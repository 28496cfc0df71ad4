/**
 * An entry of the audit log as the server writes it: its exact text, and what of it is looked at.
 */

import { itemSources, memberSource } from "../../exact/source.ts";

export interface AuditEntry {
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
  readonly kind: string;
  /** Like `reviewer:ID`. */
  readonly actor: string;
  /** Like `request:ID`. */
  readonly subject: string;
  /** Parsed: for words, never for numbers that must be exact. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** The very bytes that are sealed. */
  readonly source: string;
  /** The text of `detail` in it. */
  readonly detailSource: string;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

/** @param json the answer of `GET /review/v1/audit/entries` */
export function readAuditPage(json: string): AuditPage {
  const { next } = JSON.parse(json) as { readonly next: string | null };
  const entries = itemSources(memberSource(json, "entries") ?? "[]").map((source) => ({
    ...(JSON.parse(source) as Omit<AuditEntry, "source" | "detailSource">),
    source,
    detailSource: memberSource(source, "detail") ?? "{}",
  }));
  return { entries, next };
}
