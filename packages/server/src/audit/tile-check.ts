/** Compares the stored hashes of large subtrees with the computed ones during a verification. */

import { areEqual, type Hash } from "../core/merkle.ts";
import { readTile, TILE_WIDTH } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";
import { FindingError } from "./finding.ts";

const TILE_BITS = Math.log2(TILE_WIDTH);

interface Tile {
  readonly level: number;
  readonly tile: number;
  readonly hashes: Hash[];
}

/** Holds one tile of each level, and the full ones since the last comparison. */
export class TileCheck {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #growing = new Map<number, Tile>();
  #full: Tile[] = [];

  constructor(reader: Reader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  /** Adds a subtree. Call it in the order in which subtrees become full. */
  add(height: number, index: number, hash: Hash): void {
    if (height === 0 || height % TILE_BITS !== 0) return;
    const level = height / TILE_BITS;
    const tile = Math.floor(index / TILE_WIDTH);
    const growing = this.#growing.get(level) ?? { level, tile, hashes: [] };
    growing.hashes.push(hash);
    this.#growing.set(level, growing);
    if (growing.hashes.length < TILE_WIDTH) return;
    this.#full.push(growing);
    this.#growing.delete(level);
  }

  /** @throws FindingError when a stored hash differs */
  async flush(): Promise<void> {
    for (const tile of this.#full.splice(0)) await this.#compare(tile);
  }

  /** As {@link flush}, including incomplete tiles. */
  async end(): Promise<void> {
    this.#full = [...this.#full, ...this.#growing.values()];
    await this.flush();
  }

  async #compare({ level, tile, hashes }: Tile): Promise<void> {
    const stored = await readTile(this.#reader, { projectId: this.#projectId, level, tile });
    // New entries may have been added since.
    const isSame = hashes.every((hash, i) => areEqual(hash, stored[i] ?? new Uint8Array()));
    if (isSame) return;
    const position = tile * TILE_WIDTH * TILE_WIDTH ** level;
    const message = `the hashes that proofs are made of were altered (level ${level})`;
    throw new FindingError({ fault: "seal", position, message });
  }
}
