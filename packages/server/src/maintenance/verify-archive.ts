/** Verifies files of an archive with only the public key of their log: no database. */

import { createHash } from "node:crypto";
import { FindingError, found } from "../audit/finding.ts";
import { type VerifyExportOptions, verifyExport } from "../audit/verify-export.ts";
import { areEqual, type Hash } from "../core/merkle.ts";
import type { Checkpoint } from "../core/signed-note.ts";
import type { ArchiveFile, VerifiedFile } from "./archive-files.ts";
import { readLines } from "./read-lines.ts";

/** The verified range, and the tree of the log at its end. */
export interface VerifiedArchive {
  readonly from: number;
  readonly size: number;
  readonly subtrees: readonly Hash[];
  readonly files: readonly VerifiedFile[];
}

/**
 * @param files consecutive ones, as from `listArchive`; at least one. They must have the last entry
 * of the external checkpoint
 * @throws FindingError for the first fault
 * @throws Failure when a file cannot be read
 */
export async function verifyArchive(
  files: readonly ArchiveFile[],
  options: VerifyExportOptions,
): Promise<VerifiedArchive> {
  const { older } = options;
  if (older !== undefined) assertCovered(files, older);
  let subtrees: readonly Hash[] | undefined;
  const verified: VerifiedFile[] = [];
  for (const file of files) {
    const isCompared = older !== undefined && file.from <= older.size && older.size <= file.to;
    const digest = createHash("sha256");
    const lines = readLines(file.path, (bytes) => digest.update(bytes));
    const { origin, from, size, edges, finding } = await verifyExport(lines, {
      ...options,
      older: isCompared ? older : undefined,
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

export function isSame(one: readonly Hash[], other: readonly Hash[]): boolean {
  return one.length === other.length && one.every((hash, i) => areEqual(hash, other[i] as Hash));
}
