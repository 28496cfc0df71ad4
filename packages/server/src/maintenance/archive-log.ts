/** Archives the oldest entries of a log, in files that can be verified without the database. */

import { exportRange } from "../audit/export-log.ts";
import { FindingError } from "../audit/finding.ts";
import { StoredTree } from "../audit/stored-tree.ts";
import { KEPT_KINDS, type KeptEntry } from "../core/audit-cut.ts";
import type { EntryContent } from "../core/audit-line.ts";
import { fullSubtrees, type Hash, hashLeaf, type Range } from "../core/merkle.ts";
import { writeVerifier } from "../core/signed-note.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readSeals } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import {
  type ArchiveFile,
  assertContained,
  failure,
  folderOf,
  listArchive,
  prepareFolder,
  type VerifiedFile,
  writeArchiveFile,
  writeKey,
} from "./archive-files.ts";
import { isSame, verifyArchive } from "./verify-archive.ts";

/** A file has a few megabytes, and a verification can start with any. */
const ENTRIES_PER_FILE = 65_536;

const SEALS_PER_READ = 64;

export interface ArchivedLog {
  readonly folder: string;
  /** All of them that are not pruned, verified by this run; then the database has their entries. */
  readonly files: readonly VerifiedFile[];
  /** The files that this run wrote. */
  readonly written: readonly VerifiedFile[];
  /** Entries in the files that stay in the database after a prune, by position. */
  readonly kept: readonly KeptEntry[];
}

export interface ArchiveOptions {
  /** Has a folder for each log. */
  readonly directory: string;
  /** Epoch ms: archives entries that were sealed earlier. */
  readonly before: number;
}

/**
 * Continues the archive of a log. Verifies all files with entries that are not pruned, old and new,
 * and compares them with the log.
 *
 * @throws Failure when a file cannot be written, is damaged, or is of another log
 */
export async function archiveLog(
  reader: Reader,
  log: StoredLog,
  { directory, before }: ArchiveOptions,
): Promise<ArchivedLog> {
  const folder = folderOf(directory, log.origin);
  prepareFolder(folder);
  writeKey(folder, writeVerifier({ name: log.origin, publicKey: log.publicKey }));
  const known = listArchive(folder);
  const end = known.at(-1)?.to ?? log.pruned;
  assertContinues(folder, log, end);
  assertContained(known, { from: log.pruned, to: end });
  const present = known.filter(({ to }) => to > log.pruned);
  const kept: KeptEntry[] = [];
  const verified = await verify(reader, log, present, kept);
  const written: VerifiedFile[] = [];
  for (const range of await rangesOf(reader, log, end, before)) {
    const lines = exportRange(reader, log, range);
    written.push(
      await writeArchiveFile(folder, range, lines, async (file) => {
        const [{ sha256 } = { sha256: "" }] = await verify(reader, log, [file], kept);
        return { sha256 };
      }),
    );
  }
  return { folder, files: [...verified, ...written], written, kept };
}

function assertContinues(folder: string, { pruned, size }: StoredLog, end: number): void {
  if (end < pruned) {
    const missing = `the entries ${end} to ${pruned - 1} are in another archive`;
    throw failure(`${missing}: copy the last file of that archive into ${folder}`);
  }
  if (end > size) {
    const message = `the archive ${folder} has ${end} entries, but the log has ${size}`;
    throw failure(`${message}: is it a restored backup? Archive it into another folder`);
  }
}

/**
 * @param kept receives the entries that stay in the database
 * @throws Failure unless the files are a part of the log
 */
async function verify(
  reader: Reader,
  log: StoredLog,
  files: readonly ArchiveFile[],
  kept: KeptEntry[],
): Promise<readonly VerifiedFile[]> {
  if (files.length === 0) return [];
  const verifier = { name: log.origin, publicKey: log.publicKey };
  const onEntry = (position: number, { kind }: EntryContent, text: string) => {
    if (KEPT_KINDS.includes(kind)) kept.push({ position, leaf: hashLeaf(text) });
  };
  try {
    const { size, subtrees, files: verified } = await verifyArchive(files, { verifier, onEntry });
    if (isSame(subtrees, await subtreesAt(reader, log, size))) return verified;
  } catch (error) {
    if (!(error instanceof FindingError)) throw error;
    throw failure(`the archive is damaged: ${error.message}`, error);
  }
  const [first] = files;
  throw failure(
    `${first?.path} differs from the log in the database: run countersign audit verify`,
  );
}

/** Hashes of the full subtrees of the log at this size, which is not before its cut. */
export async function subtreesAt(
  reader: Reader,
  { projectId }: Pick<StoredLog, "projectId">,
  size: number,
): Promise<Hash[]> {
  const tree = new StoredTree(reader, projectId);
  const hashes: Hash[] = [];
  for (const subtree of fullSubtrees({ from: 0, to: size }))
    hashes.push(await tree.subtree(subtree));
  return hashes;
}

/** Ranges to archive, one for each file. Each ends where a seal ends. */
async function rangesOf(
  reader: Reader,
  { projectId, size }: StoredLog,
  end: number,
  before: number,
): Promise<Range[]> {
  const ranges: Range[] = [];
  let [from, position] = [end, end];
  const close = () => {
    if (position > from) ranges.push({ from, to: position });
    from = position;
  };
  while (position < size) {
    const seals = await readSeals(reader, projectId, position, SEALS_PER_READ);
    for (const { entries, sealedAt } of seals) {
      if (sealedAt >= before || position >= size) {
        close();
        return ranges;
      }
      position += entries;
      if (position - from >= ENTRIES_PER_FILE) close();
    }
    if (seals.length === 0) break;
  }
  close();
  return ranges;
}
