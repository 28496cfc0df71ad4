/**
 * Hashes over ranges of a sealed log, from its seals and tiles. A proof reads only a few rows, even
 * of a long log. Callers compare the result with a checkpoint.
 */

import {
  Frontier,
  fullSubtrees,
  type Hash,
  joinSubtrees,
  type Range,
  type Subtree,
} from "../core/merkle.ts";
import { readSealAt, readSeals, readTile, TILE_WIDTH } from "../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../storage/store.ts";

/** Heights of one level of tiles. */
const TILE_BITS = Math.log2(TILE_WIDTH);

export class StoredTree {
  readonly #reader: Reader;
  readonly #projectId: string;
  /** By first leaf, height and index. Proofs of one request share most of them. */
  readonly #known = new Map<string, Hash>();

  constructor(reader: Reader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  /** @param range within the sealed tree, as in a proof */
  async hashOf(range: Range): Promise<Hash> {
    const hashes: Hash[] = [];
    for (const subtree of fullSubtrees(range)) hashes.push(await this.subtree(subtree));
    return joinSubtrees(hashes);
  }

  async subtree({ height, index }: Subtree): Promise<Hash> {
    const name = `${height} ${index}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const level = Math.floor(height / TILE_BITS);
    const width = 2 ** (height % TILE_BITS);
    const from = index * width;
    const hashes =
      level === 0 ? await this.#leaves(from, width) : await this.#nodes(level, from, width);
    const frontier = new Frontier();
    for (const hash of hashes) frontier.append(hash);
    this.#known.set(name, frontier.root());
    return frontier.root();
  }

  async #nodes(level: number, from: number, count: number): Promise<Hash[]> {
    const tile = Math.floor(from / TILE_WIDTH);
    const hashes = await readTile(this.#reader, { projectId: this.#projectId, level, tile });
    return hashes.slice(from % TILE_WIDTH, (from % TILE_WIDTH) + count);
  }

  async #leaves(from: number, count: number): Promise<Hash[]> {
    const leaves: Hash[] = [];
    const first = await readSealAt(this.#reader, this.#projectId, from);
    if (first === undefined) return leaves;
    leaves.push(...first.hashes.slice(from - first.position));
    let next = first.position + first.entries;
    while (leaves.length < count) {
      const [seal] = await readSeals(this.#reader, this.#projectId, next, 1);
      if (seal === undefined) break;
      leaves.push(...seal.hashes);
      next = seal.position + seal.entries;
    }
    return leaves.slice(0, count);
  }
}
