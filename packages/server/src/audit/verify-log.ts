/**
 * Verifies a sealed log in its database: recomputes every leaf from the rows, and every signed
 * root. Memory holds a few seals, even for a long log.
 */

import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import { KEPT_KINDS } from "../core/audit-cut.ts";
import { type EntryContent, readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { areEqual, Frontier, type Hash, hashLeaf } from "../core/merkle.ts";
import { requestIdOf } from "../core/request-entry.ts";
import { type Checkpoint, readCheckpoint, type Verifier } from "../core/signed-note.ts";
import { Failure } from "../failure.ts";
import {
  isAuthenticEntry,
  readEntriesBetween,
  readEntryIds,
} from "../storage/sql/audit/audit-entries.ts";
import { readLog, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import {
  readSealAt,
  readSealedIds,
  readSeals,
  type StoredSeal,
} from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { findMissingProof, readOpened } from "./approval-proofs.ts";
import {
  type AddedPasskeys,
  findEntryFault,
  findForeignKey,
  NOT_AN_ENTRY,
} from "./entry-checks.ts";
import { type Finding, FindingError, found } from "./finding.ts";
import { frontierOfTiles, PrunedPart, tiledBefore } from "./pruned-part.ts";
import { SignatureChecks } from "./signature-checks.ts";
import { TileCheck } from "./tile-check.ts";

const SEALS_PER_READ = 4;
const IDS_PER_READ = 2_000;

/** An older unsealed entry was missed: a rescan runs every five minutes, plus its duration. */
export const UNSEALED_MS_MAX = 15 * 60_000;

/** A pruned entry has a valid MAC, so a row from a backup can be mistaken for a new one. */
export const RETURNED = "it was pruned, but the database has it again";

export interface VerifyOptions {
  readonly verifier: Verifier;
  /** An external checkpoint. */
  readonly older?: Checkpoint | undefined;
  /** True when the entries that `older` covers were verified before: only later ones are. */
  readonly isIncremental?: boolean;
  /** True when the caller verifies the archive of the log, and compares it with `older`. */
  readonly hasArchive?: boolean;
  /** Keys of passkeys that may have signed. */
  readonly passkeys: AddedPasskeys;
  /** The clock of the database. */
  readonly clock: Pick<Clock, "now">;
  /** Called when a log that was pruned meanwhile is verified again, from its first entry on. */
  readonly onRestart?: () => void;
  /** Receives the entries of each seal after they were verified, except for its signature. */
  readonly onEntries?: (entries: readonly EntryContent[]) => Promise<void>;
  /** Called at intervals with the number of verified entries. An error stops the verification. */
  readonly onProgress?: (entries: number) => void | Promise<void>;
}

export interface Verified {
  readonly origin: string;
  readonly projectId: string;
  readonly size: number;
  readonly checkpoint: string;
  /** Entries that may still be unsealed because of their age. */
  readonly unsealed: number;
  /** Entries that were sealed long after their timestamp. */
  readonly late: number;
  /** Entries before this position are only in an archive, and were not verified here. */
  readonly pruned: number;
  /** Entries before this position were verified earlier. */
  readonly since: number;
  /** Resolutions that were not compared with their requirement, because only an archive has it. */
  readonly notCompared: readonly PlacedEntry[];
  readonly finding: Finding | undefined;
}

export interface PlacedEntry {
  readonly position: number;
  readonly entry: EntryContent;
}

/**
 * @throws Failure when the database cannot be read, or only an archive has the entries of the
 * external checkpoint
 */
export async function verifyLog(
  reader: Reader,
  log: StoredLog,
  options: VerifyOptions,
): Promise<Verified> {
  const { origin, projectId, size, checkpoint, pruned } = log;
  const since = options.isIncremental ? (options.older?.size ?? 0) : 0;
  const summary = { origin, projectId, size, checkpoint, pruned, since };
  const run = new LogVerification(reader, log, options);
  try {
    await run.verify();
    return { ...summary, ...run.counts, notCompared: run.notCompared, finding: undefined };
  } catch (error) {
    if (!(error instanceof FindingError)) throw error;
    // Entries may have been pruned since the log was read.
    const current = await readLog(reader, projectId);
    if (current !== undefined && current.pruned > pruned) {
      options.onRestart?.();
      return verifyLog(reader, current, options);
    }
    const finding = { origin, projectId, ...error.finding };
    return { ...summary, ...run.counts, notCompared: run.notCompared, finding };
  }
}

class LogVerification {
  readonly counts = { unsealed: 0, late: 0 };
  readonly notCompared: PlacedEntry[] = [];
  readonly #reader: Reader;
  readonly #log: StoredLog;
  readonly #options: VerifyOptions;
  readonly #tiles: TileCheck;
  readonly #signatures: SignatureChecks;
  #frontier = new Frontier();
  /** Position of the last seal that was verified. */
  #lastSeal: number | undefined;
  #part: PrunedPart | undefined;
  /** True when the log differed at the external checkpoint. */
  #isRewritten = false;
  /** Creation time of the log, for entries that are older; 0 if its first seals are pruned. */
  #startedAt: number | undefined;

  constructor(reader: Reader, log: StoredLog, options: VerifyOptions) {
    this.#reader = reader;
    this.#log = log;
    this.#options = options;
    this.#tiles = new TileCheck(reader, log.projectId);
    this.#signatures = new SignatureChecks(options.verifier);
  }

  async verify(): Promise<void> {
    try {
      await this.#verifyAll();
    } catch (error) {
      // An invalid signature precedes this finding, so it is reported first.
      if (error instanceof FindingError) await this.#signatures.waitForAll();
      throw error;
    }
    await this.#signatures.waitForAll();
  }

  async #verifyAll(): Promise<void> {
    const { size } = this.#log;
    this.#part = await PrunedPart.read(this.#reader, this.#log);
    const { older, isIncremental = false } = this.#options;
    if (older !== undefined && isIncremental) await this.#skipVerified(older.size);
    else await this.#skipPruned();
    this.#compareOlder();
    this.#assertNotRewritten();
    while (this.#frontier.size < size) {
      const position = this.#frontier.size;
      const seals = await this.#readNextSeals(SEALS_PER_READ);
      if (seals.length === 0) throw found("missing", { position }, "its seal is missing");
      for (const seal of seals) {
        if (this.#frontier.size < size) await this.#verifySeal(seal);
      }
      await this.#tiles.flush();
      await this.#signatures.startWhenFull();
      await this.#options.onProgress?.(this.#frontier.size);
    }
    this.#verifyEnd();
    if (!isIncremental) this.#part?.end();
    await this.#tiles.end();
    await this.#findSealBeyondEnd();
    await this.#findUnsealed();
  }

  /** From behind the start of the last one, so that they include a made-up one that overlaps it. */
  #readNextSeals(limit: number): Promise<StoredSeal[]> {
    const from = this.#lastSeal === undefined ? this.#frontier.size : this.#lastSeal + 1;
    return readSeals(this.#reader, this.#log.projectId, from, limit);
  }

  /** Starts behind the pruned part. Its tiles, and each checkpoint later, cover that part. */
  async #skipPruned(): Promise<void> {
    const { projectId, size } = this.#log;
    if (this.#part === undefined) return;
    this.#startedAt = 0;
    this.#frontier = await this.#part.verify(this.#tiles);
    const { older, hasArchive = false } = this.#options;
    const base = this.#frontier.size;
    if (older !== undefined && older.size < base && !hasArchive) {
      const message = `the entries of the given checkpoint (${older.size}) are in an archive`;
      throw new Failure("audit", `${message}: give its folder with --archive`);
    }
    if (base === size) return;
    // The seal in which the first kept hash is can start before it.
    const seal = await readSealAt(this.#reader, projectId, base);
    if (seal !== undefined && seal.position < base && seal.position + seal.entries > base) {
      await this.#verifySeal(seal, base - seal.position);
    }
  }

  /**
   * Starts behind the entries that were verified before. The stored hashes of these entries must
   * have the root of the external checkpoint.
   */
  async #skipVerified(until: number): Promise<void> {
    const { projectId, size, pruned } = this.#log;
    if (until > size) return this.#assertNotTruncated();
    if (until < pruned) {
      const message = `entries after those of the given checkpoint (${until}) are in an archive`;
      throw new Failure("audit", `${message}: verify the log without --since`);
    }
    this.#startedAt = 0;
    const base = tiledBefore(until);
    this.#frontier = await frontierOfTiles(this.#reader, projectId, base, this.#tiles);
    const first = await readSealAt(this.#reader, projectId, base);
    for (let seal = first; seal !== undefined && this.#frontier.size < until; ) {
      const from = this.#frontier.size - seal.position;
      // A seal is missing, which the next step reports.
      if (from < 0) return;
      for (const hash of seal.hashes.slice(from, until - seal.position)) this.#append(hash);
      [seal] = await readSeals(this.#reader, projectId, this.#frontier.size, 1);
    }
  }

  async #verifySeal(seal: StoredSeal, skipped = 0): Promise<void> {
    const { position, ids, hashes, entries: count, firstId, lastId, sealedAt } = seal;
    const ref = { position: this.#frontier.size };
    if (position + skipped < ref.position) throw overlapping(seal);
    if (position + skipped > ref.position) throw found("missing", ref, "its seal is missing");
    this.#lastSeal = position;
    const isWhole = ids.length === count && hashes.length === count;
    if (!isWhole) throw found("seal", ref, "the seal that starts there was altered");
    this.#startedAt ??= sealedAt;
    const rows = await this.#rowsOf(seal);
    const texts = rows.map((row) => row && writeEntry(row));
    const leaves = texts.map(
      (text, i) => (text === undefined ? hashes[i] : hashLeaf(text)) as Hash,
    );
    for (const leaf of leaves.slice(skipped)) this.#append(leaf);
    this.#part?.addKept(seal, rows, leaves);
    const head = this.#readSigned(seal.checkpoint, "its seal", { position });
    const { pruned } = this.#log;
    const isRows = rows.every((row, i) => row !== undefined || position + i < pruned);
    const isRoot = head.size === this.#frontier.size && areEqual(head.root, this.#frontier.root());
    const isSame = leaves.every((leaf, i) => areEqual(leaf, hashes[i] as Hash));
    if (!isRoot || !isRows || !isSame) this.#blame(seal, { rows, leaves, isRoot });
    const span = [...ids].sort();
    if (span[0] !== firstId || span.at(-1) !== lastId) {
      throw found("seal", ref, "the seal that starts there was altered");
    }
    const entries = await this.#checkEntries(seal, rows, texts);
    await this.#options.onEntries?.(entries);
    // Reported after findings that have a position.
    this.#assertNotRewritten();
  }

  /** Finds the fault of a seal. */
  #blame({ position, ids, hashes }: StoredSeal, { rows, leaves, isRoot }: Unfitting): never {
    const { pruned } = this.#log;
    const index = leaves.findIndex((leaf, i) => {
      const isMissing = rows[i] === undefined && position + i >= pruned;
      return isMissing || !areEqual(leaf, hashes[i] as Hash);
    });
    const row = rows[Math.max(index, 0)];
    const ref = describe(
      { position: position + Math.max(index, 0), id: ids[Math.max(index, 0)] },
      row,
    );
    if (index === -1) {
      const range = `${position} to ${position + ids.length - 1}`;
      const message = `entries ${range} are not what their checkpoint covers`;
      throw found("checkpoint", ref, message);
    }
    if (row === undefined) throw found("missing", ref, "its row is missing");
    // The rows match the signed root, but the hash in the seal does not.
    if (isRoot) throw found("seal", ref, "the hash in its seal was altered");
    const leaf = leaves[index] as Hash;
    const elsewhere = hashes.findIndex((hash) => areEqual(hash, leaf));
    if (elsewhere !== -1) {
      throw found("reordered", ref, `it was sealed at position ${position + elsewhere}`);
    }
    throw found("altered", ref, "its row is not what was sealed");
  }

  async #checkEntries(
    { position, sealedAt }: StoredSeal,
    rows: readonly (StoredEntry | undefined)[],
    texts: readonly (string | undefined)[],
  ): Promise<EntryContent[]> {
    const checked: EntryContent[] = [];
    for (const [i, row] of rows.entries()) {
      if (row === undefined) continue;
      const entry = readEntry(texts[i] ?? "");
      const message =
        this.#returned(position + i, row) ??
        (entry === undefined ? NOT_AN_ENTRY : findEntryFault(entry)) ??
        this.#foreignRow(row) ??
        (entry && (await this.#findMissing(position + i, entry)));
      if (message !== undefined) {
        throw found("entry", describe({ position: position + i }, row), message);
      }
      const isAfterStart = row.at > (this.#startedAt ?? 0);
      if (isAfterStart && sealedAt - row.at > UNSEALED_MS_MAX) this.counts.late++;
      if (entry !== undefined) checked.push(entry);
    }
    return checked;
  }

  /** Finds a missing passkey of a signature, and missing proofs of an approval. */
  async #findMissing(position: number, entry: EntryContent): Promise<string | undefined> {
    const { passkeys } = this.#options;
    const { projectId } = this.#log;
    if (await this.#isRequirementArchived(entry)) this.notCompared.push({ position, entry });
    return (
      findForeignKey(entry, passkeys) ??
      (await findMissingProof(this.#reader, projectId, entry, { passkeys }))
    );
  }

  async #isRequirementArchived(entry: EntryContent): Promise<boolean> {
    const requestId = requestIdOf(entry);
    const isResolution = entry.kind === "request.resolved" && requestId !== undefined;
    if (this.#part === undefined || !isResolution) return false;
    if ((timeOfId(requestId) ?? 0) > this.#part.cut.until) return false;
    const opened = await readOpened(this.#reader, this.#log.projectId, requestId);
    // An entry that opens its request itself, although the archive may have its opening.
    return opened === undefined || opened.id === entry.id;
  }

  /** A row before the cut that should have been deleted. */
  #returned(position: number, { kind }: StoredEntry): string | undefined {
    if (position >= this.#log.pruned || KEPT_KINDS.includes(kind)) return undefined;
    return RETURNED;
  }

  #foreignRow(row: StoredEntry): string | undefined {
    if (isAuthenticEntry(this.#reader, row)) return undefined;
    return "mac: no server with the secret key of this database wrote its row";
  }

  /** In the order of the seal. */
  async #rowsOf({ projectId, firstId, lastId, ids }: StoredSeal) {
    const found = await readEntriesBetween(this.#reader, projectId, firstId, lastId);
    const byId = new Map(found.map((entry) => [entry.id, entry]));
    return ids.map((id) => byId.get(id));
  }

  #append(leaf: Hash): void {
    this.#frontier.append(leaf, (height, index, hash) => this.#tiles.add(height, index, hash));
    this.#compareOlder();
  }

  /** Called when the log reaches the size of the external checkpoint. */
  #compareOlder(): void {
    const { older } = this.#options;
    if (older === undefined || older.size !== this.#frontier.size) return;
    this.#isRewritten = !areEqual(older.root, this.#frontier.root());
  }

  #assertNotRewritten(): void {
    if (!this.#isRewritten) return;
    const size = this.#options.older?.size;
    const message = `its first ${size} entries differ from those of the given checkpoint`;
    throw found("rewritten", {}, message);
  }

  #readSigned(note: string, what: string, ref: Pick<Finding, "position" | "id">): Checkpoint {
    const checkpoint = readCheckpoint(note);
    if (checkpoint === undefined || checkpoint.origin !== this.#log.origin) {
      throw found("checkpoint", ref, `the checkpoint of ${what} was altered`);
    }
    this.#signatures.add(note, () =>
      found("signature", ref, `the checkpoint of ${what} is not signed by the key`),
    );
    return checkpoint;
  }

  /** Compares the state of the log with the computed one. */
  #verifyEnd(): void {
    const { size, checkpoint, subtrees } = this.#log;
    const head = this.#readSigned(checkpoint, "the log", {});
    const root = this.#frontier.root();
    if (head.size !== size || this.#frontier.size !== size || !areEqual(head.root, root)) {
      throw found("checkpoint", {}, "the latest checkpoint does not cover what is sealed");
    }
    const computed = this.#frontier.subtrees;
    const isSame = computed.every((hash, i) => areEqual(hash, subtrees[i] ?? new Uint8Array()));
    if (!isSame || computed.length !== subtrees.length) {
      throw found("seal", {}, "the state of the log was altered");
    }
    this.#assertNotTruncated();
  }

  #assertNotTruncated(): void {
    const { older } = this.#options;
    const { size } = this.#log;
    if (older === undefined || older.size <= size) return;
    const message = `it has ${size} entries, and had ${older.size} at the given checkpoint`;
    throw found("truncated", {}, message);
  }

  /**
   * Finds a seal that overlaps the last one, or is beyond the end of the log. The log is read after
   * the seals, so it includes new ones.
   */
  async #findSealBeyondEnd(): Promise<void> {
    const { projectId, size } = this.#log;
    const [seal] = await this.#readNextSeals(1);
    if (seal !== undefined && seal.position < size) throw overlapping(seal);
    const now = await readLog(this.#reader, projectId);
    if (seal === undefined || seal.position < (now?.size ?? 0)) return;
    const ref = { position: seal.position, id: seal.ids[0] };
    throw found("truncated", ref, "a seal exists after the end of the log");
  }

  async #findUnsealed(): Promise<void> {
    const { projectId } = this.#log;
    // A scan by id starts after the empty id, and does not find it.
    await this.#judgeUnsealed("");
    const since = await readSince(this.#reader, this.#log, this.#options);
    for (let after = since === 0 ? "" : firstIdAt(since); ; ) {
      const ids = await readEntryIds(this.#reader, projectId, { after }, IDS_PER_READ);
      const [first, last] = [ids[0], ids.at(-1)];
      if (first === undefined || last === undefined) return;
      const sealed = await readSealedIds(this.#reader, projectId, first, last);
      for (const id of ids) if (!sealed.has(id)) await this.#judgeUnsealed(id);
      if (ids.length < IDS_PER_READ) return;
      after = last;
    }
  }

  async #judgeUnsealed(id: string): Promise<void> {
    const [row] = await readEntriesBetween(this.#reader, this.#log.projectId, id, id);
    if (row === undefined) return;
    const now = this.#options.clock.now();
    const since = Math.min(row.at, timeOfId(id) ?? 0);
    if (now - since <= UNSEALED_MS_MAX && since <= now + UNSEALED_MS_MAX) {
      this.counts.unsealed++;
      return;
    }
    throw found("unsealed", describe({}, row), "no seal contains it");
  }
}

/**
 * @returns epoch ms: the part of the log that was verified before has all earlier entries, except
 *   entries that were sealed late; 0 when everything is verified
 */
export async function readSince(
  reader: Reader,
  { projectId }: StoredLog,
  { older, isIncremental = false, clock }: Pick<VerifyOptions, "older" | "isIncremental" | "clock">,
): Promise<number> {
  if (older === undefined || !isIncremental || older.size === 0) return 0;
  const seal = await readSealAt(reader, projectId, older.size - 1);
  if (seal === undefined) return 0;
  // Nothing signs `sealedAt`, but the ids of the next seal are verified.
  const [next] = await readSeals(reader, projectId, older.size, 1);
  const before = next === undefined ? clock.now() : (timeOfId(next.firstId) ?? 0);
  return Math.max(0, Math.min(seal.sealedAt, before) - UNSEALED_MS_MAX);
}

interface Unfitting {
  readonly rows: readonly (StoredEntry | undefined)[];
  /** Hashes of the rows; of the seal for missing rows. */
  readonly leaves: readonly Hash[];
  /** True when they have the signed root. */
  readonly isRoot: boolean;
}

function overlapping({ position, ids }: StoredSeal): FindingError {
  return found("seal", { position, id: ids[0] }, "its seal overlaps the one before it");
}

/** The id of a missing row contains its time. */
function describe(
  { position, id }: Pick<Finding, "position" | "id">,
  row: StoredEntry | undefined,
): Omit<Finding, "fault" | "message"> {
  const at = row?.at ?? (id === undefined ? undefined : timeOfId(id));
  return {
    position,
    id: row?.id ?? id,
    kind: row?.kind,
    at,
  };
}
