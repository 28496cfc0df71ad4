/** Entries with an inclusion proof. The public key alone verifies each line. */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import { type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { areEqual, hashLeaf, inclusionRanges, isIncluded } from "../core/merkle.ts";
import { readCheckpoint } from "../core/signed-note.ts";
import { Failure } from "../failure.ts";
import { readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readSealOf } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { StoredTree } from "./stored-tree.ts";

export interface ProvenEntry {
  readonly position: number;
  /** Hashes of RFC 9162, section 2.1.3. */
  readonly proof: readonly string[];
  /** The sealed text. */
  readonly entry: string;
  /** The checkpoint that covers it, as a signed note. */
  readonly checkpoint: string;
}

/** The bytes of the entry are at the end: after the first `"entry":` and before the last brace. */
export function writeProven({ checkpoint, position, proof, entry }: ProvenEntry): string {
  const head = JSON.stringify({ checkpoint, position, proof });
  return `${head.slice(0, -1)},"entry":${entry}}`;
}

/**
 * @param log its current state, with the checkpoint that covers the entries
 * @returns only entries that are sealed, and not pruned
 * @throws Failure when a row differs from the sealed entry
 */
export async function proveEntries(
  reader: Reader,
  log: StoredLog,
  entries: readonly StoredEntry[],
): Promise<ProvenEntry[]> {
  const tree = new StoredTree(reader, log.projectId);
  const { checkpoint } = log;
  const head = readCheckpoint(checkpoint);
  if (head === undefined) throw broken("the checkpoint of the log is damaged");
  const proven: ProvenEntry[] = [];
  for (const stored of entries) {
    const seal = await readSealOf(reader, log.projectId, stored.id);
    const index = seal?.ids.indexOf(stored.id) ?? -1;
    if (seal === undefined || seal.position + index >= head.size) continue;
    const position = seal.position + index;
    if (position < log.pruned) continue;
    const entry = writeEntry(stored);
    const leaf = hashLeaf(entry);
    const sealed = seal.hashes[index];
    if (sealed === undefined || !areEqual(leaf, sealed)) {
      throw broken(`entry ${stored.id} at position ${position} is not what was sealed`);
    }
    const hashes: Uint8Array[] = [];
    for (const range of inclusionRanges(position, head.size)) hashes.push(await tree.hashOf(range));
    if (!isIncluded(leaf, position, head, hashes)) {
      throw broken(`no proof can be made for entry ${stored.id} at position ${position}`);
    }
    const proof = hashes.map((hash) => Buffer.from(hash).toString("base64"));
    proven.push({ position, proof, entry, checkpoint });
  }
  return proven;
}

const ENTRIES_PER_READ = 2_000;

/**
 * Time after the decision: longer than its 168 hours of delivery and the use of an approval. An
 * agent may report the outcome for as long as the request exists.
 */
const AFTER_DECISION_MS = 16 * 24 * 3_600_000;

/** Maximum delay between the timestamp in an id and the commit of its entry. */
const LATE_MS_MAX = 15 * 60_000;

/**
 * Entries about a request, in the order of their ids. Subjects have no index, so it scans from the
 * creation of the request until no further entry is possible.
 */
export async function findEntriesOfRequest(
  reader: Reader,
  projectId: string,
  requestId: string,
): Promise<StoredEntry[]> {
  const openedAt = timeOfId(requestId);
  if (openedAt === undefined) return [];
  const subject = `request:${requestId}`;
  const found: StoredEntry[] = [];
  for (let after = firstIdAt(openedAt); ; ) {
    const page = await readEntriesAfter(reader, projectId, after, ENTRIES_PER_READ);
    found.push(...page.filter((entry) => entry.subject === subject));
    const last = page.at(-1);
    if (last === undefined || isAll(found, timeOfId(last.id) ?? 0)) return found;
    after = last.id;
  }
}

/** @param readTo epoch ms */
function isAll(found: readonly StoredEntry[], readTo: number): boolean {
  const has = (wanted: string) => found.some(({ kind }) => kind === wanted);
  const resolved = found.find(({ kind }) => kind === "request.resolved");
  // It may be pending for its whole window, and longer while no server was running.
  if (resolved === undefined) return false;
  if (readTo > resolved.at + AFTER_DECISION_MS) return true;
  if (!has("delivery.ended")) return false;
  if (has("approval.consumed")) return has("outcome.reported");
  return readTo > usableUntil(resolved) + LATE_MS_MAX;
}

/** End of the validity of an approval, epoch ms; for other entries, their time. */
function usableUntil({ at, detail }: StoredEntry): number {
  const expiresAt = /"expires_at":(\d+)/.exec(detail)?.[1];
  return expiresAt === undefined ? at : Number(expiresAt);
}

function broken(message: string): Failure {
  return new Failure("audit", `${message}: run countersign audit verify`);
}
