/** Proofs of archived entries. The public key alone verifies each, as a proof from the database. */

import type { ProvenEntry } from "../audit/prove-entries.ts";
import { parseExportLine, readEntry } from "../core/audit-line.ts";
import {
  Frontier,
  fullSubtrees,
  type Hash,
  hashLeaf,
  hashNode,
  inclusionRanges,
  isIncluded,
  splitOf,
} from "../core/merkle.ts";
import { readCheckpoint } from "../core/signed-note.ts";
import { type ArchiveFile, failure } from "./archive-files.ts";
import { readLines } from "./read-lines.ts";

/**
 * The entries of a request before a position. Reads each file with such entries; memory holds the
 * hashes of one file.
 *
 * @param files from `listArchive`
 * @param before position of the first entry that the database has
 * @throws Failure when a file cannot be read or is damaged
 */
export async function proveArchived(
  files: readonly ArchiveFile[],
  requestId: string,
  before: number,
): Promise<ProvenEntry[]> {
  const proven: ProvenEntry[] = [];
  for (const file of files) {
    if (file.from >= before) break;
    const content = await readFile(file, `request:${requestId}`);
    for (const { position, entry } of content.found) {
      if (position < before) proven.push(prove(file, content, position, entry));
    }
  }
  return proven;
}

interface ArchiveContent {
  /** Hashes before the first entry, by the end of their ranges. */
  readonly before: readonly Hash[];
  readonly leaves: readonly Hash[];
  /** Of all entries of the file. */
  readonly checkpoint: string;
  readonly found: readonly { readonly position: number; readonly entry: string }[];
}

async function readFile({ path }: ArchiveFile, subject: string): Promise<ArchiveContent> {
  const found: { position: number; entry: string }[] = [];
  const leaves: Hash[] = [];
  let before: Hash[] = [];
  let checkpoint = "";
  for await (const line of readLines(path)) {
    const placed = parseExportLine(line);
    if (placed === undefined) {
      const { subtrees, checkpoint: note } = parse(path, line);
      if (Array.isArray(subtrees)) before = subtrees.map((each) => Buffer.from(each, "base64"));
      if (typeof note === "string") checkpoint = note;
      continue;
    }
    leaves.push(hashLeaf(placed.entry));
    const isCandidate = placed.entry.includes(subject);
    if (isCandidate && readEntry(placed.entry)?.subject === subject) found.push(placed);
  }
  return { before, leaves, checkpoint, found };
}

function parse(path: string, line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw failure(`${path} is damaged: run countersign audit verify --archive`, error);
  }
}

function prove(
  { path, from, to }: ArchiveFile,
  { before, leaves, checkpoint }: ArchiveContent,
  position: number,
  entry: string,
): ProvenEntry {
  const starts = fullSubtrees({ from: 0, to: from });
  const hashOf = (first: number, end: number): Hash => {
    if (first >= from) {
      const frontier = new Frontier();
      for (const leaf of leaves.slice(first - from, end - from)) frontier.append(leaf);
      return frontier.root();
    }
    const known = starts.findIndex(
      ({ height, index }) => index * 2 ** height === first && first + 2 ** height === end,
    );
    if (known !== -1) return before[known] ?? new Uint8Array();
    const middle = first + splitOf(end - first);
    return hashNode(hashOf(first, middle), hashOf(middle, end));
  };
  const hashes = inclusionRanges(position, to).map((range) => hashOf(range.from, range.to));
  const head = readCheckpoint(checkpoint);
  if (head === undefined || !isIncluded(hashLeaf(entry), position, head, hashes)) {
    throw failure(`${path} is damaged: run countersign audit verify --archive`);
  }
  const proof = hashes.map((hash) => Buffer.from(hash).toString("base64"));
  return { position, proof, entry, checkpoint };
}
