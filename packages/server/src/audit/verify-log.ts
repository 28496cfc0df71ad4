/**
 * Verifies a sealed log in its database: recomputes every leaf from the rows, and every signed
 * root. Memory holds a few seals, even for a long log.
 */

import { timeOfId } from "@countersign/protocol";
import { readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { areEqual, Frontier, type Hash, hashLeaf } from "../core/merkle.ts";
import { type Checkpoint, isSignedBy, readCheckpoint, type Verifier } from "../core/signed-note.ts";
import {
  isAuthenticEntry,
  readEntriesBetween,
  readEntryIds,
} from "../storage/sql/audit/audit-entries.ts";
import { readLog, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { readSealedIds, readSeals, type StoredSeal } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { findMissingProof } from "./approval-proofs.ts";
import { type AddedPasskeys, findEntryFault, findForeignKey } from "./entry-checks.ts";
import { type Finding, FindingError, found } from "./finding.ts";
import { TileCheck } from "./tile-check.ts";

const SEALS_PER_READ = 4;
const IDS_PER_READ = 2_000;

/** An older unsealed entry was missed: a rescan runs every five minutes, plus its duration. */
export const UNSEALED_MS_MAX = 15 * 60_000;

export interface VerifyOptions {
  readonly verifier: Verifier;
  /** An external checkpoint. */
  readonly older?: Checkpoint | undefined;
  /** Keys of passkeys that may have signed. */
  readonly passkeys: AddedPasskeys;
  /** Time of the database, epoch ms. */
  readonly now: number;
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
  readonly finding: Finding | undefined;
}

/** @throws Failure when the database cannot be read */
export async function verifyLog(
  reader: Reader,
  log: StoredLog,
  options: VerifyOptions,
): Promise<Verified> {
  const { origin, projectId, size, checkpoint } = log;
  const summary = { origin, projectId, size, checkpoint };
  const run = new LogVerification(reader, log, options);
  try {
    await run.verify();
    return { ...summary, unsealed: run.unsealed, late: run.late, finding: undefined };
  } catch (error) {
    if (!(error instanceof FindingError)) throw error;
    const finding = { origin, projectId, ...error.finding };
    return { ...summary, unsealed: run.unsealed, late: run.late, finding };
  }
}

class LogVerification {
  unsealed = 0;
  late = 0;
  readonly #reader: Reader;
  readonly #log: StoredLog;
  readonly #options: VerifyOptions;
  readonly #tiles: TileCheck;
  readonly #frontier = new Frontier();
  /** True when the log differed at the external checkpoint. */
  #isRewritten = false;
  /** Creation time of the log, for entries that are older. */
  #startedAt = 0;

  constructor(reader: Reader, log: StoredLog, options: VerifyOptions) {
    this.#reader = reader;
    this.#log = log;
    this.#options = options;
    this.#tiles = new TileCheck(reader, log.projectId);
  }

  async verify(): Promise<void> {
    const { projectId, size } = this.#log;
    this.#compareOlder();
    this.#assertNotRewritten();
    while (this.#frontier.size < size) {
      const from = this.#frontier.size;
      const seals = await readSeals(this.#reader, projectId, from, SEALS_PER_READ);
      if (seals.length === 0) throw found("missing", { position: from }, "its seal is missing");
      for (const seal of seals) {
        if (this.#frontier.size < size) await this.#verifySeal(seal);
      }
      await this.#tiles.flush();
      await this.#options.onProgress?.(this.#frontier.size);
    }
    this.#verifyEnd();
    await this.#tiles.end();
    await this.#findSealBeyondEnd();
    await this.#findUnsealed();
  }

  async #verifySeal(seal: StoredSeal): Promise<void> {
    const { position, ids, hashes, entries: count, firstId, lastId, sealedAt } = seal;
    const ref = { position: this.#frontier.size };
    if (position !== ref.position) throw found("missing", ref, "its seal is missing");
    const isWhole = ids.length === count && hashes.length === count;
    if (!isWhole) throw found("seal", ref, "the seal that starts there was altered");
    if (this.#startedAt === 0) this.#startedAt = sealedAt;
    const rows = await this.#rowsOf(seal);
    const texts = rows.map((row) => row && writeEntry(row));
    const leaves = texts.map(
      (text, i) => (text === undefined ? hashes[i] : hashLeaf(text)) as Hash,
    );
    for (const leaf of leaves) this.#append(leaf);
    const head = this.#readSigned(seal.checkpoint, "its seal", { position });
    const isRows = rows.every((row) => row !== undefined);
    const isRoot = head.size === this.#frontier.size && areEqual(head.root, this.#frontier.root());
    const isSame = leaves.every((leaf, i) => areEqual(leaf, hashes[i] as Hash));
    if (!isRoot || !isRows || !isSame) this.#blame(seal, { rows, leaves, isRoot });
    const span = [...ids].sort();
    if (span[0] !== firstId || span.at(-1) !== lastId) {
      throw found("seal", ref, "the seal that starts there was altered");
    }
    await this.#checkEntries(seal, rows, texts);
    // Reported after findings that have a position.
    this.#assertNotRewritten();
  }

  /** Finds the fault of a seal. */
  #blame({ position, ids, hashes }: StoredSeal, { rows, leaves, isRoot }: Unfitting): never {
    const index = leaves.findIndex((leaf, i) => {
      return rows[i] === undefined || !areEqual(leaf, hashes[i] as Hash);
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
  ): Promise<void> {
    for (const [i, row] of rows.entries()) {
      if (row === undefined) continue;
      const text = texts[i] ?? "";
      const message =
        findEntryFault(text)?.message ??
        this.#foreignKey(text) ??
        this.#foreignRow(row) ??
        (await findMissingProof(this.#reader, row, this.#options.passkeys));
      if (message !== undefined) {
        throw found("entry", describe({ position: position + i }, row), message);
      }
      if (row.at > this.#startedAt && sealedAt - row.at > UNSEALED_MS_MAX) this.late++;
    }
  }

  #foreignKey(text: string): string | undefined {
    const entry = readEntry(text);
    return entry && findForeignKey(entry, this.#options.passkeys);
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
    if (isSignedBy(note, this.#options.verifier)) return checkpoint;
    throw found("signature", ref, `the checkpoint of ${what} is not signed by the key`);
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
    const { older } = this.#options;
    if (older === undefined || older.size <= size) return;
    const message = `it has ${size} entries, and had ${older.size} at the given checkpoint`;
    throw found("truncated", {}, message);
  }

  /**
   * Finds a seal beyond the end of the log. The log is read after the seals, so it includes new
   * ones.
   */
  async #findSealBeyondEnd(): Promise<void> {
    const { projectId, size } = this.#log;
    const [seal] = await readSeals(this.#reader, projectId, size, 1);
    const now = await readLog(this.#reader, projectId);
    if (seal === undefined || seal.position < (now?.size ?? 0)) return;
    const ref = { position: seal.position, id: seal.ids[0] };
    throw found("truncated", ref, "a seal exists after the end of the log");
  }

  async #findUnsealed(): Promise<void> {
    const { projectId } = this.#log;
    // A scan by id starts after the empty id, and does not find it.
    await this.#judgeUnsealed("");
    for (let after = ""; ; ) {
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
    const { now } = this.#options;
    const since = Math.min(row.at, timeOfId(id) ?? 0);
    if (now - since <= UNSEALED_MS_MAX && since <= now + UNSEALED_MS_MAX) {
      this.unsealed++;
      return;
    }
    throw found("unsealed", describe({}, row), "no seal contains it");
  }
}

interface Unfitting {
  readonly rows: readonly (StoredEntry | undefined)[];
  /** Hashes of the rows; of the seal for missing rows. */
  readonly leaves: readonly Hash[];
  /** True when they have the signed root. */
  readonly isRoot: boolean;
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
