/**
 * The cut of a pruned log: entries before it are only in an archive. The entry `audit.pruned`
 * records it, so the log itself authenticates it.
 */

import { createHash } from "node:crypto";
import type { EntryContent } from "./audit-line.ts";
import type { Hash } from "./merkle.ts";

/**
 * Kinds of entries that stay in the database, because a verification compares other rows and
 * entries with all of them. They are few.
 */
export const KEPT_KINDS: readonly string[] = ["passkey.added", "policy.published"];

export interface AuditCut {
  /** Position of the first entry that stays. */
  readonly size: number;
  /** Epoch ms: pruned entries are not later. */
  readonly until: number;
  /** {@link KeptDigest} of the kept entries before the cut. */
  readonly keptSha256: string;
}

/** @returns undefined when the entry is not an `audit.pruned` */
export function readCut({ kind, detail }: EntryContent): AuditCut | undefined {
  const { size, until, kept_sha256: keptSha256 } = detail;
  if (kind !== "audit.pruned" || typeof keptSha256 !== "string") return undefined;
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(until)) return undefined;
  return { size: Number(size), until: Number(until), keptSha256 };
}

/** An entry that stays. */
export interface KeptEntry {
  readonly position: number;
  readonly leaf: Hash;
}

/** Binds the entries that stay before a cut to their positions. */
export class KeptDigest {
  readonly #hash = createHash("sha256");

  /** Call it in the order of the positions. */
  add(position: number, leaf: Hash): void {
    this.#hash.update(`${position} ${Buffer.from(leaf).toString("hex")}\n`);
  }

  /** Call it once, at the end. */
  hex(): string {
    return this.#hash.digest("hex");
  }
}
