/**
 * The part of a log before its cut, as far as the database has it: the hashes of its subtrees, and
 * the few entries that stay.
 */

import { type AuditCut, KEPT_KINDS, KeptDigest, readCut } from "../core/audit-cut.ts";
import { readEntry as parseEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import { areEqual, Frontier, type Hash, hashLeaf } from "../core/merkle.ts";
import { isAuthenticEntry, readEntry } from "../storage/sql/audit/audit-entries.ts";
import type { StoredLog } from "../storage/sql/audit/audit-logs.ts";
import {
  readSeals,
  readTile,
  type StoredSeal,
  TILE_WIDTH,
} from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { found } from "./finding.ts";
import type { TileCheck } from "./tile-check.ts";

const SEALS_PER_READ = 64;

/** @returns the last position up to this one whose subtrees are all in tiles */
export function tiledBefore(position: number): number {
  return position - (position % TILE_WIDTH);
}

/**
 * The state of the tree at a position, from the stored hashes alone.
 *
 * @param position as {@link tiledBefore} returns it
 * @param tiles compares the hashes of larger subtrees
 * @throws FindingError when hashes are missing
 */
export async function frontierOfTiles(
  reader: Reader,
  projectId: string,
  position: number,
  tiles: TileCheck,
): Promise<Frontier> {
  const count = position / TILE_WIDTH;
  // A tree whose leaves are the subtrees in the tiles of the first level.
  const upper = new Frontier();
  const height = Math.log2(TILE_WIDTH);
  for (let tile = 0; upper.size < count; tile++) {
    const hashes = await readTile(reader, { projectId, level: 1, tile });
    const wanted = hashes.slice(0, count - upper.size);
    if (wanted.length === 0) {
      const missing = { position: upper.size * TILE_WIDTH };
      throw found("seal", missing, "the hashes of earlier entries are missing");
    }
    for (const hash of wanted) {
      upper.append(hash, (above, index, node) => tiles.add(height + above, index, node));
    }
    await tiles.flush();
  }
  return new Frontier(position, upper.subtrees);
}

/**
 * The cut that the log records.
 *
 * @returns undefined for a log that was never pruned
 * @throws FindingError when no entry of the log records it
 */
export async function readCutOf(
  reader: Reader,
  { projectId, pruned, prunedBy, size }: StoredLog,
): Promise<AuditCut | undefined> {
  if (pruned === 0 && prunedBy === "") return undefined;
  const row = await readEntry(reader, projectId, prunedBy);
  const isAuthentic = row !== undefined && isAuthenticEntry(reader, row);
  const entry = isAuthentic ? parseEntry(writeEntry(row)) : undefined;
  const cut = entry && readCut(entry);
  if (cut !== undefined && pruned <= cut.size && cut.size <= size) return cut;
  const message = `entries before ${pruned} are missing, and no entry audit.pruned records this`;
  throw found("missing", { position: 0 }, message);
}

export class PrunedPart {
  readonly cut: AuditCut;
  readonly #reader: Reader;
  readonly #log: StoredLog;
  readonly #kept = new KeptDigest();

  private constructor(reader: Reader, log: StoredLog, cut: AuditCut) {
    this.#reader = reader;
    this.#log = log;
    this.cut = cut;
  }

  /** @returns undefined for a log that was never pruned */
  static async read(reader: Reader, log: StoredLog): Promise<PrunedPart | undefined> {
    const cut = await readCutOf(reader, log);
    return cut && new PrunedPart(reader, log, cut);
  }

  /** @returns the state of the tree before the first entry that the database has a hash of */
  async verify(tiles: TileCheck): Promise<Frontier> {
    const base = tiledBefore(this.#log.pruned);
    await this.#verifyKept(base);
    return frontierOfTiles(this.#reader, this.#log.projectId, base, tiles);
  }

  /** Call it for each seal behind the tiles, in order. */
  addKept(
    { position }: StoredSeal,
    rows: readonly (StoredEntry | undefined)[],
    leaves: readonly Hash[],
  ): void {
    for (const [i, row] of rows.entries()) {
      if (position + i >= this.cut.size) return;
      if (row === undefined || !KEPT_KINDS.includes(row.kind)) continue;
      this.#kept.add(position + i, leaves[i] ?? new Uint8Array());
    }
  }

  /** @throws FindingError when entries that stay before the cut were removed or added */
  end(): void {
    if (this.#kept.hex() === this.cut.keptSha256) return;
    const message = `the entries ${KEPT_KINDS.join(", ")} before the cut are not those that stayed`;
    throw found("missing", { position: 0 }, message);
  }

  /** Each of the entries that stay has a seal of its own. */
  async #verifyKept(base: number): Promise<void> {
    const { projectId } = this.#log;
    for (let position = 0; position < base; ) {
      const seals = await readSeals(this.#reader, projectId, position, SEALS_PER_READ);
      for (const seal of seals) {
        if (seal.position + seal.entries > base) return;
        await this.#verifyKeptSeal(seal);
        position = seal.position + 1;
      }
      if (seals.length < SEALS_PER_READ) return;
    }
  }

  async #verifyKeptSeal({ projectId, position, ids, hashes }: StoredSeal): Promise<void> {
    const [id, hash] = [ids[0] ?? "", hashes[0] ?? new Uint8Array()];
    const ref = { position, id };
    if (ids.length !== 1) throw found("seal", ref, "the seal that starts there was altered");
    const row = await readEntry(this.#reader, projectId, id);
    if (row === undefined) throw found("missing", ref, "its row is missing");
    if (!areEqual(hashLeaf(writeEntry(row)), hash) || !isAuthenticEntry(this.#reader, row)) {
      throw found("altered", ref, "its row is not what was sealed");
    }
    this.#kept.add(position, hash);
  }
}
