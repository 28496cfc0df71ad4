/**
 * Exports a sealed log as lines of JSON, which can be verified without the database: see
 * docs/reference/audit-log.md.
 */

import { firstIdAt } from "@countersign/protocol";
import { type StoredEntry, writeEntry, writeExportLine } from "../core/audit-line.ts";
import { fullSubtrees } from "../core/merkle.ts";
import { Failure } from "../failure.ts";
import { readEntriesBetween } from "../storage/sql/audit/audit-entries.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readFirstPosition, readSeals, type StoredSeal } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { StoredTree } from "./stored-tree.ts";

const SEALS_PER_READ = 4;

/** Maximum entries before a checkpoint, so that a fault can be located. */
const ENTRIES_PER_CHECKPOINT_MIN = 256;

/**
 * @param log its current state; entries sealed later are not included
 * @param since epoch ms: starts with the first seal that has an entry of that time or later
 * @throws Failure when a sealed row is missing
 */
export async function* exportLog(
  reader: Reader,
  log: StoredLog,
  since?: number,
): AsyncGenerator<string> {
  const { projectId, origin, size } = log;
  const first = await readFirstPosition(reader, projectId, firstIdAt(since ?? 0));
  const from = since === undefined ? 0 : Math.min(first ?? size, size);
  yield await head(new StoredTree(reader, projectId), origin, from);
  let unchecked = 0;
  for (let position = from; position < size; ) {
    const seals = await readSeals(reader, projectId, position, SEALS_PER_READ);
    if (seals.length === 0) throw broken(`there is no seal at position ${position}`);
    for (const seal of seals) {
      if (position >= size) break;
      const entries = await entriesOf(reader, seal);
      for (const [i, entry] of entries.entries())
        yield writeExportLine(position + i, writeEntry(entry));
      position = seal.position + seal.entries;
      unchecked += entries.length;
      if (position >= size || unchecked < ENTRIES_PER_CHECKPOINT_MIN) continue;
      yield JSON.stringify({ checkpoint: seal.checkpoint });
      unchecked = 0;
    }
  }
  yield JSON.stringify({ checkpoint: log.checkpoint });
}

/** Includes the hashes left of the first entry, so that the root can be computed from there. */
async function head(tree: StoredTree, log: string, from: number): Promise<string> {
  const subtrees: string[] = [];
  for (const subtree of fullSubtrees({ from: 0, to: from })) {
    subtrees.push(Buffer.from(await tree.subtree(subtree)).toString("base64"));
  }
  return JSON.stringify({ log, from, subtrees });
}

/** In the order of the seal. */
async function entriesOf(
  reader: Reader,
  { projectId, position, firstId, lastId, ids }: StoredSeal,
): Promise<StoredEntry[]> {
  const found = await readEntriesBetween(reader, projectId, firstId, lastId);
  const byId = new Map(found.map((entry) => [entry.id, entry]));
  return ids.map((id, i) => {
    const entry = byId.get(id);
    if (entry === undefined) throw broken(`entry ${id} at position ${position + i} is missing`);
    return entry;
  });
}

function broken(message: string): Failure {
  return new Failure("audit", `${message}: run countersign audit verify`);
}
