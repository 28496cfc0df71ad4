/**
 * What holds of an entry by itself, whatever log it is in. A new check is one row.
 *
 * Called by: every verification, with every entry.
 */

import { type EntryContent, readEntry } from "../core/audit-line.ts";
import { verifyProof } from "./passkey-proof.ts";

export interface EntryCheck {
  readonly name: string;
  /** @returns what is wrong, for people; undefined when nothing is, or it does not apply */
  find(entry: EntryContent): string | undefined;
}

export const ENTRY_CHECKS: readonly EntryCheck[] = [
  {
    name: "time",
    find: ({ at }) => (Number.isSafeInteger(at) && at >= 0 ? undefined : "its time is no time"),
  },
  {
    name: "passkey",
    find({ subject, detail }) {
      if (detail.passkey === undefined) return undefined;
      const finding = verifyProof(detail, subject.replace(/^request:/, ""));
      return finding.kind === "refuted" ? finding.fault : undefined;
    },
  },
];

/** @returns what is wrong with it, for people; undefined when nothing is */
export function findEntryFault(
  text: string,
): { readonly message: string; readonly entry: EntryContent | undefined } | undefined {
  const entry = readEntry(text);
  if (entry === undefined) return { message: "it is not an entry", entry };
  for (const { name, find } of ENTRY_CHECKS) {
    const message = find(entry);
    if (message !== undefined) return { message: `${name}: ${message}`, entry };
  }
  return undefined;
}
