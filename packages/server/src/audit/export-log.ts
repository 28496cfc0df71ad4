/**
 * Exports a sealed log as lines of JSON, which can be verified without the database: see
 * docs/reference/audit-log.md.
 */

import { firstIdAt } from "@countersign/protocol";
import { writeEntry, writeExportLine } from "../core/audit-line.ts";
import { fullSubtrees, type Range } from "../core/merkle.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readFirstPosition, readSeals } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { broken, readEntriesOfSeal } from "./sealed-entries.ts";
import { StoredTree } from "./stored-tree.ts";

const SEALS_PER_READ = 4;

/** Maximum entries before a checkpoint, so that a fault can be located. */
const ENTRIES_PER_CHECKPOINT_MIN = 256;

/**
 * @param log its current state; entries sealed later are not included
 * @param since epoch ms: starts with the first seal that has an entry of that time or later. A
 * pruned log starts at its cut or later
 * @throws Failure when a sealed row is missing
 */
export async function* exportLog(
  reader: Reader,
  log: StoredLog,
  since?: number,
): AsyncGenerator<string> {
  const { projectId, size, pruned } = log;
  const first =
    since === undefined ? 0 : await readFirstPosition(reader, projectId, firstIdAt(since));
  const from = Math.max(Math.min(first ?? size, size), pruned);
  yield* exportRange(reader, log, { from, to: size });
}

/**
 * @param range starts and ends where a seal starts or ends
 * @throws Failure when a sealed row is missing
 */
export async function* exportRange(
  reader: Reader,
  log: StoredLog,
  { from, to }: Range,
): AsyncGenerator<string> {
  const { projectId, origin } = log;
  yield await head(new StoredTree(reader, projectId), origin, from);
  let { checkpoint } = log;
  let unchecked = 0;
  for (let position = from; position < to; ) {
    const seals = await readSeals(reader, projectId, position, SEALS_PER_READ);
    if (seals.length === 0) throw broken(`there is no seal at position ${position}`);
    for (const seal of seals) {
      if (position >= to) break;
      const entries = await readEntriesOfSeal(reader, seal);
      for (const [i, entry] of entries.entries())
        yield writeExportLine(position + i, writeEntry(entry));
      position = seal.position + seal.entries;
      checkpoint = seal.checkpoint;
      unchecked += entries.length;
      if (position >= to || unchecked < ENTRIES_PER_CHECKPOINT_MIN) continue;
      yield JSON.stringify({ checkpoint });
      unchecked = 0;
    }
  }
  yield JSON.stringify({ checkpoint });
}

/** Includes the hashes left of the first entry, so that the root can be computed from there. */
async function head(tree: StoredTree, log: string, from: number): Promise<string> {
  const subtrees: string[] = [];
  for (const subtree of fullSubtrees({ from: 0, to: from })) {
    subtrees.push(Buffer.from(await tree.subtree(subtree)).toString("base64"));
  }
  return JSON.stringify({ log, from, subtrees });
}
