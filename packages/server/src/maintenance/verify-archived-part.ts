/** Verifies the archive of a log together with the log in the database. */

import { existsSync } from "node:fs";
import type { AddedPasskeys } from "../audit/entry-checks.ts";
import { FindingError, found } from "../audit/finding.ts";
import { RETURNED } from "../audit/verify-log.ts";
import { KEPT_KINDS } from "../core/audit-cut.ts";
import { type EntryContent, writeEntry } from "../core/audit-line.ts";
import type { Checkpoint, Verifier } from "../core/signed-note.ts";
import { IDS_MAX, readExistingIds } from "../storage/sql/audit/audit-cuts.ts";
import { readEntry } from "../storage/sql/audit/audit-entries.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import type { Reader } from "../storage/store.ts";
import { folderOf, listArchive } from "./archive-files.ts";
import { subtreesAt } from "./archive-log.ts";
import { ArchivedApprovals } from "./archived-approvals.ts";
import { ArchivedRequests } from "./archived-requests.ts";
import { isSame, verifyArchive } from "./verify-archive.ts";

export interface ArchivedPartOptions {
  /** Has a folder for each log. */
  readonly directory: string;
  readonly verifier: Verifier;
  /** Keys of passkeys that may have signed. */
  readonly passkeys: AddedPasskeys;
  /** An external checkpoint. */
  readonly older?: Checkpoint | undefined;
  readonly onProgress?: ((entries: number) => void) | undefined;
}

export interface ArchivedPart {
  /** How many entries the archive has. */
  readonly archived: number;
  /** Their entries of requests that are in the database. */
  readonly requests: ArchivedRequests;
  readonly approvals: ArchivedApprovals;
}

/** @throws FindingError for the first fault */
export async function verifyArchivedPart(
  reader: Reader,
  log: StoredLog,
  { directory, verifier, passkeys, older, onProgress }: ArchivedPartOptions,
): Promise<ArchivedPart> {
  const requests = new ArchivedRequests(reader, log.projectId);
  const approvals = new ArchivedApprovals(reader, log.projectId, passkeys);
  const folder = folderOf(directory, log.origin);
  const files = listArchive(folder);
  const [first, last] = [files[0], files.at(-1)];
  if (first === undefined || last === undefined) {
    if (log.pruned === 0) return { archived: 0, requests, approvals };
    const message = existsSync(directory) ? `${folder} has no archive` : `${directory} is missing`;
    throw found("missing", { position: 0 }, message);
  }
  if (first.from > 0) throw found("missing", { position: 0 }, `${folder} starts at ${first.from}`);
  if (last.to < log.pruned) {
    throw found("missing", { position: last.to }, `${folder} ends before the cut ${log.pruned}`);
  }
  if (last.to > log.size) {
    const message = `${folder} has ${last.to} entries, but the log has ${log.size}`;
    throw found("truncated", {}, message);
  }
  const pruned = new PrunedEntries(reader, log);
  const { size, subtrees } = await verifyArchive(files, {
    verifier,
    // A later one is compared with the entries in the database.
    older: older !== undefined && older.size <= last.to ? older : undefined,
    onProgress,
    onEntry: async (position, entry, text) => {
      await requests.add(position, entry);
      await approvals.add(position, entry);
      await pruned.add(position, entry, text);
    },
  });
  await approvals.end();
  await requests.flush();
  await pruned.flush();
  if (!isSame(subtrees, await subtreesAt(reader, log, size))) {
    const message = `${folder} has other entries than the log in the database`;
    throw new FindingError({ fault: "rewritten", message });
  }
  return { archived: size, requests, approvals };
}

/**
 * Compares archived entries from before the cut with the rows: the few that stay must be there, and
 * no others. A row that returned, for example from a backup, has a valid MAC, so the server seals
 * it again as a new entry.
 */
class PrunedEntries {
  readonly #reader: Reader;
  readonly #log: StoredLog;
  readonly #page = new Map<string, EntryContent & { readonly position: number }>();

  constructor(reader: Reader, log: StoredLog) {
    this.#reader = reader;
    this.#log = log;
  }

  /** @throws FindingError when the database has a pruned entry, or not one that stays */
  async add(position: number, entry: EntryContent, text: string): Promise<void> {
    if (position >= this.#log.pruned) return;
    if (KEPT_KINDS.includes(entry.kind)) return this.#assertKept(position, entry, text);
    this.#page.set(entry.id, { ...entry, position });
    if (this.#page.size === IDS_MAX) await this.flush();
  }

  async #assertKept(position: number, { id, kind, at }: EntryContent, text: string): Promise<void> {
    const row = await readEntry(this.#reader, this.#log.projectId, id);
    const ref = { position, id, kind, at };
    if (row === undefined)
      throw found("missing", ref, "its row is missing, and stays after a prune");
    if (writeEntry(row) !== text) throw found("altered", ref, "its row is not what was archived");
  }

  /** Call it after the last entry. @throws FindingError as `add` does */
  async flush(): Promise<void> {
    const ids = [...this.#page.keys()];
    const existing = await readExistingIds(this.#reader, this.#log.projectId, ids);
    const again = ids.find((id) => existing.has(id));
    const entry = again === undefined ? undefined : this.#page.get(again);
    this.#page.clear();
    if (entry === undefined) return;
    const { position, id, kind, at } = entry;
    throw found("entry", { position, id, kind, at }, RETURNED);
  }
}
