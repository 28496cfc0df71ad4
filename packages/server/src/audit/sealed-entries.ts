/** Reads the entries of a sealed log in the order of their positions. */

import { type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { type Hash, hashLeaf } from "../core/merkle.ts";
import { Failure } from "../failure.ts";
import { readEntriesBetween } from "../storage/sql/audit/audit-entries.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readSealAt, readSeals, type StoredSeal } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";

/** An entry with its place in a log. */
export interface SealedEntry {
  readonly origin: string;
  /** From 0. Later sealing does not change it. */
  readonly position: number;
  readonly entry: StoredEntry;
}

/** A position of a log; without an entry when its row is missing or was altered after sealing. */
export type SealedPosition = Omit<SealedEntry, "entry"> & Partial<Pick<SealedEntry, "entry">>;

const SEALS_PER_READ = 4;

/**
 * The positions of a log in order. Reports rows that do not match their seal.
 *
 * @param log its current state; entries sealed later are not included
 * @param from the first position; of a pruned log, it starts at the cut or later
 * @throws Failure `audit` when a seal is missing
 */
export async function* readSealedEntries(
  reader: Reader,
  { projectId, origin, size, pruned }: Pick<StoredLog, "projectId" | "origin" | "size" | "pruned">,
  from: number,
): AsyncGenerator<SealedPosition> {
  let position = Math.max(from, pruned);
  while (position < size) {
    const seals = await readSealsFrom(reader, projectId, position);
    for (const seal of seals) {
      const entries = await findEntriesOfSeal(reader, seal);
      for (; position < seal.position + seal.entries; position++) {
        const i = position - seal.position;
        const entry = entries[i];
        if (entry !== undefined && isSealed(entry, seal.hashes[i])) {
          yield { origin, position, entry };
          continue;
        }
        reader.integrity.report({ table: "audit_entry", projectId, id: seal.ids[i] ?? "" });
        yield { origin, position };
      }
    }
  }
}

function isSealed(entry: StoredEntry, hash: Hash | undefined): boolean {
  return hash !== undefined && Buffer.compare(hashLeaf(writeEntry(entry)), hash) === 0;
}

/** Consecutive seals; the first one contains the position. */
async function readSealsFrom(
  reader: Reader,
  projectId: string,
  position: number,
): Promise<StoredSeal[]> {
  const first = await readSealAt(reader, projectId, position);
  if (first === undefined || first.position + first.entries <= position) {
    throw broken(`there is no seal at position ${position}`);
  }
  const seals = await readSeals(reader, projectId, first.position, SEALS_PER_READ);
  const gap = seals.findIndex((seal, i) => {
    const before = seals[i - 1];
    return before !== undefined && seal.position !== before.position + before.entries;
  });
  return gap === -1 ? seals : seals.slice(0, gap);
}

/**
 * In the order of the seal.
 *
 * @throws Failure `audit` when a row is missing
 */
export async function readEntriesOfSeal(reader: Reader, seal: StoredSeal): Promise<StoredEntry[]> {
  const found = await findEntriesOfSeal(reader, seal);
  return seal.ids.map((id, i) => {
    const entry = found[i];
    if (entry !== undefined) return entry;
    throw broken(`entry ${id} at position ${seal.position + i} is missing`);
  });
}

/** In the order of the seal; undefined for a missing row. */
async function findEntriesOfSeal(
  reader: Reader,
  { projectId, firstId, lastId, ids }: StoredSeal,
): Promise<(StoredEntry | undefined)[]> {
  const found = await readEntriesBetween(reader, projectId, firstId, lastId);
  const byId = new Map(found.map((entry) => [entry.id, entry]));
  return ids.map((id) => byId.get(id));
}

/** A damaged log. */
export function broken(message: string): Failure {
  return new Failure("audit", `${message}: run countersign audit verify`);
}
