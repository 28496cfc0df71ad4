/** Checks of a single entry, independent of its log. A new check is one row. */

import type { EntryContent } from "../core/audit-line.ts";
import { requestIdOf } from "../core/request-entry.ts";
import { verifyProof } from "./passkey-proof.ts";

export interface EntryCheck {
  readonly name: string;
  /**
   * @returns the fault, for people; undefined when the entry is valid or the check does not apply
   */
  find(entry: EntryContent): string | undefined;
}

export const ENTRY_CHECKS: readonly EntryCheck[] = [
  {
    name: "time",
    find: ({ at }) => (Number.isSafeInteger(at) && at >= 0 ? undefined : "its time is invalid"),
  },
  {
    name: "passkey",
    find(entry) {
      const { detail } = entry;
      if (detail.passkey === undefined) return undefined;
      const finding = verifyProof(detail, requestIdOf(entry) ?? "");
      return finding.kind === "refuted" ? finding.fault : undefined;
    },
  },
];

/** Public keys of passkeys, from the entries of the server's log. */
export type AddedPasskeys = ReadonlySet<string>;

/** @param details of the entries `passkey.added` */
export function toAddedPasskeys(details: readonly string[]): AddedPasskeys {
  return new Set(details.map((detail) => nameOf(readDetail(detail))));
}

/**
 * The entry alone cannot prove the owner of its signature, because anyone can create a key.
 *
 * @returns the fault, for people; undefined without a fault or a signature
 */
export function findForeignKey(
  { detail }: Pick<EntryContent, "detail">,
  added: AddedPasskeys,
): string | undefined {
  const { passkey } = detail;
  if (passkey === undefined || added.has(nameOf(passkey as Detail))) return undefined;
  return "passkey: the log of the server has no entry that added the signing key";
}

type Detail = Readonly<Record<string, unknown>>;

function nameOf({ credential_id: id, public_key: key }: Detail): string {
  return JSON.stringify([id, key]);
}

/** The verification of its own log reports an altered entry. */
function readDetail(detail: string): Detail {
  try {
    const read: unknown = JSON.parse(detail);
    return typeof read === "object" && read !== null ? (read as Detail) : {};
  } catch {
    return {};
  }
}

export const NOT_AN_ENTRY = "it is not an entry";

/** @returns the fault, for people; undefined for a valid entry */
export function findEntryFault(entry: EntryContent): string | undefined {
  for (const { name, find } of ENTRY_CHECKS) {
    const message = find(entry);
    if (message !== undefined) return `${name}: ${message}`;
  }
  return undefined;
}
