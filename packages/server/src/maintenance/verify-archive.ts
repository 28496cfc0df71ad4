/** Verifies files of an archive with only the public key of their log: no database. */

import { createHash, type Hash as Digest } from "node:crypto";
import { FindingError, found } from "../audit/finding.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { parseExportLine } from "../core/audit-line.ts";
import { areEqual, type Hash } from "../core/merkle.ts";
import type { Checkpoint, Verifier } from "../core/signed-note.ts";
import type { ArchiveFile, VerifiedFile } from "./archive-files.ts";
import { readLines } from "./read-lines.ts";

export interface VerifyArchiveOptions {
  readonly verifier: Verifier;
  /** An external checkpoint. The files must have its last entry. */
  readonly older?: Checkpoint | undefined;
  /** Called at intervals with the position. */
  readonly onProgress?: ((entries: number) => void) | undefined;
  /** Called with each entry, before its checkpoint is verified. */
  readonly onEntry?: (position: number, entry: string) => void | Promise<void>;
}

/** The verified range, and the tree of the log at its end. */
export interface VerifiedArchive {
  readonly from: number;
  readonly size: number;
  readonly subtrees: readonly Hash[];
  readonly files: readonly VerifiedFile[];
}

/**
 * @param files consecutive ones, as from `listArchive`; at least one
 * @throws FindingError for the first fault
 * @throws Failure when a file cannot be read
 */
export async function verifyArchive(
  files: readonly ArchiveFile[],
  { verifier, older, onProgress, onEntry }: VerifyArchiveOptions,
): Promise<VerifiedArchive> {
  if (older !== undefined) assertCovered(files, older);
  let subtrees: readonly Hash[] | undefined;
  const verified: VerifiedFile[] = [];
  for (const file of files) {
    const isCompared = older !== undefined && file.from <= older.size && older.size <= file.to;
    const digest = createHash("sha256");
    const lines = entriesOf(file, digest, onEntry);
    const { origin, from, size, edges, finding } = await verifyExport(lines, {
      verifier,
      older: isCompared ? older : undefined,
      onProgress,
    });
    const ref = { origin, position: file.from };
    if (finding !== undefined) {
      throw new FindingError({ ...finding, message: `${file.path}: ${finding.message}` });
    }
    if (from !== file.from || size !== file.to) {
      const message = `${file.path} has the positions ${from} to ${size - 1}, unlike its name`;
      throw found("altered", ref, message);
    }
    if (subtrees !== undefined && !isSame(subtrees, edges.start)) {
      throw found("altered", ref, `${file.path} does not continue the file before it`);
    }
    subtrees = edges.end;
    verified.push({ ...file, sha256: digest.digest("hex") });
  }
  const [first, last] = [files[0], files.at(-1)];
  return {
    from: first?.from ?? 0,
    size: last?.to ?? 0,
    subtrees: subtrees ?? [],
    files: verified,
  };
}

/** @throws FindingError when no file can be compared with the checkpoint */
function assertCovered(files: readonly ArchiveFile[], { size }: Checkpoint): void {
  const [from, to] = [files[0]?.from ?? 0, files.at(-1)?.to ?? 0];
  if (size > to) {
    const message = `the archive ends at ${to}, and the given checkpoint has ${size} entries`;
    throw found("truncated", {}, `${message}: give an earlier checkpoint, or the missing files`);
  }
  if (size >= from) return;
  const message = `the archive starts with entry ${from}, behind the given checkpoint (${size})`;
  throw found(
    "missing",
    { position: size },
    `${message}: give a later checkpoint, or the missing files`,
  );
}

async function* entriesOf(
  { path }: ArchiveFile,
  digest: Digest,
  onEntry: VerifyArchiveOptions["onEntry"],
): AsyncGenerator<string> {
  for await (const line of readLines(path, (bytes) => digest.update(bytes))) {
    const placed = onEntry && parseExportLine(line);
    if (placed !== undefined) await onEntry?.(placed.position, placed.entry);
    yield line;
  }
}

export function isSame(one: readonly Hash[], other: readonly Hash[]): boolean {
  return one.length === other.length && one.every((hash, i) => areEqual(hash, other[i] as Hash));
}
