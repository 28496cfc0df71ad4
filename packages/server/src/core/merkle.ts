/**
 * The Merkle tree of RFC 9162 (section 2.1) with SHA-256: computes roots without storing leaves,
 * and proofs that others can verify.
 */

import { hash } from "node:crypto";

export type Hash = Uint8Array;

export const HASH_BYTES = 32;

/** The root of an empty tree. */
export const EMPTY_ROOT: Hash = sha256(new Uint8Array());

/** Hash of the bytes of one entry, or of its UTF-8 text. */
export function hashLeaf(entry: string | Uint8Array): Hash {
  const bytes = typeof entry === "string" ? Buffer.from(entry) : entry;
  const input = Buffer.allocUnsafe(bytes.length + 1);
  input[0] = 0;
  input.set(bytes, 1);
  return sha256(input);
}

export function hashNode(left: Hash, right: Hash): Hash {
  const input = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  input[0] = 1;
  input.set(left, 1);
  input.set(right, 1 + HASH_BYTES);
  return sha256(input);
}

/** Called for every full subtree at its last leaf: the index-th subtree with 2^height leaves. */
export type OnSubtree = (height: number, index: number, hash: Hash) => void;

/** The right edge of a tree: the state that is needed to append leaves and compute the root. */
export class Frontier {
  #size: number;
  readonly #subtrees: Hash[];

  /**
   * @param size number of leaves
   * @param subtrees hashes of the full subtrees of `size`, from the left
   * @throws RangeError when their number does not match the size, or the size is invalid
   */
  constructor(size = 0, subtrees: readonly Hash[] = []) {
    if (!isCount(size)) throw new RangeError(`no tree has ${size} leaves`);
    const heights = fullSubtrees({ from: 0, to: size });
    if (heights.length !== subtrees.length) {
      throw new RangeError(`a tree of ${size} has ${heights.length} full subtrees`);
    }
    this.#size = size;
    this.#subtrees = [...subtrees];
  }

  get size(): number {
    return this.#size;
  }

  get subtrees(): readonly Hash[] {
    return this.#subtrees;
  }

  append(leaf: Hash, onSubtree?: OnSubtree): void {
    let hash = leaf;
    let index = this.#size;
    // Like a carry in a binary number.
    for (let height = 0; ; height++) {
      onSubtree?.(height, index, hash);
      if (index % 2 === 0) break;
      hash = hashNode(this.#subtrees.pop() as Hash, hash);
      index = (index - 1) / 2;
    }
    this.#subtrees.push(hash);
    this.#size++;
  }

  root(): Hash {
    return this.#size === 0 ? EMPTY_ROOT : joinSubtrees(this.#subtrees);
  }
}

/** Leaves from a position up to another, which is excluded. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A full subtree: the index-th with 2^height leaves. */
export interface Subtree {
  readonly height: number;
  readonly index: number;
}

/** The full subtrees of a range; `from` is 0 or a split of the RFC. */
export function fullSubtrees({ from, to }: Range): Subtree[] {
  const found: Subtree[] = [];
  for (let start = from; start < to; ) {
    let [height, width] = [0, 1];
    while (start % (2 * width) === 0 && start + 2 * width <= to)
      [height, width] = [height + 1, 2 * width];
    found.push({ height, index: start / width });
    start += width;
  }
  return found;
}

/** The root over full subtrees, from the left in descending height. */
export function joinSubtrees(hashes: readonly Hash[]): Hash {
  const last = hashes.at(-1);
  if (last === undefined) throw new RangeError("there is no subtree");
  return hashes.slice(0, -1).reduceRight((joined, hash) => hashNode(hash, joined), last);
}

/**
 * The ranges of the hashes that prove that a leaf is in a tree, in the order of the proof.
 *
 * @see RFC 9162 section 2.1.3.1
 */
export function inclusionRanges(position: number, size: number): Range[] {
  const ranges: Range[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (position < middle) {
      ranges.push({ from: middle, to });
      to = middle;
    } else {
      ranges.push({ from, to: middle });
      from = middle;
    }
  }
  return ranges.reverse();
}

/**
 * The ranges of the hashes that prove that a tree extends an older one, in the order of the proof.
 *
 * @param older its size, from 1 up to `size`
 * @see RFC 9162 section 2.1.4.1
 */
export function consistencyRanges(older: number, size: number): Range[] {
  const ranges: Range[] = [];
  let [from, to] = [0, size];
  while (older !== to) {
    const middle = from + splitOf(to - from);
    if (older <= middle) {
      ranges.push({ from: middle, to });
      to = middle;
    } else {
      ranges.push({ from, to: middle });
      from = middle;
    }
  }
  // The rest is the complete older tree, which the verifier knows, or its right end.
  if (from > 0) ranges.push({ from, to });
  return ranges.reverse();
}

/** @see RFC 9162 section 2.1.3.2 */
export function isIncluded(
  leaf: Hash,
  position: number,
  { size, root }: { readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
): boolean {
  if (!isCount(position) || position >= size) return false;
  let [fn, sn] = [position, size - 1];
  let hash = leaf;
  for (const sibling of proof) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      hash = hashNode(sibling, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      hash = hashNode(hash, sibling);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && areEqual(hash, root);
}

export interface TreeHead {
  readonly size: number;
  readonly root: Hash;
}

/** True when a tree extends an older one. @see RFC 9162 section 2.1.4.2 */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Hash[]): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && areEqual(older.root, newer.root);
  if (older.size === 0) return proof.length === 0 && areEqual(older.root, EMPTY_ROOT);
  const isPower = fullSubtrees({ from: 0, to: older.size }).length === 1;
  const [first, ...rest] = isPower ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  let [fn, sn] = [older.size - 1, newer.size - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  let [oldHash, newHash] = [first, first];
  for (const hash of rest) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      oldHash = hashNode(hash, oldHash);
      newHash = hashNode(hash, newHash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      newHash = hashNode(newHash, hash);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && areEqual(oldHash, older.root) && areEqual(newHash, newer.root);
}

export function areEqual(one: Hash, other: Hash): boolean {
  return Buffer.compare(one, other) === 0;
}

/** The largest power of two below a number of at least 2. */
export function splitOf(count: number): number {
  let width = 1;
  while (2 * width < count) width *= 2;
  return width;
}

/** Division instead of a shift, which fails above 2^31. */
function half(number: number): number {
  return Math.floor(number / 2);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function sha256(input: Uint8Array): Hash {
  // Not as "buffer", which takes twice as long and leaves garbage outside of the heap (Node 24.21).
  return Buffer.from(hash("sha256", input, "binary"), "binary");
}
