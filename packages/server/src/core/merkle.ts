/**
 * The Merkle tree of RFC 9162 (section 2.1) with SHA-256: over leaves one after another without
 * keeping them, and proofs that others can check.
 */

import { hash } from "node:crypto";

export type Hash = Uint8Array;

export const HASH_BYTES = 32;

/** The root of no leaves. */
export const EMPTY_ROOT: Hash = sha256(new Uint8Array());

/** Of the bytes of one entry, or of its text in UTF-8. */
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

/** Called with every full subtree at its last leaf: 2^height leaves, the index-th of these. */
export type OnSubtree = (height: number, index: number, hash: Hash) => void;

/** The right edge of a tree: all that is needed to append to it and to know its root. */
export class Frontier {
  #size: number;
  readonly #subtrees: Hash[];

  /**
   * @param size how many leaves there are
   * @param subtrees of the full subtrees that `size` is made of, from the left
   * @throws RangeError when there are not as many as that size has, or it is none
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
    // As a carry goes through the digits of a binary number.
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

/** Leaves from a position up to another, which is not among them. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** A full subtree: the index-th of those with 2^height leaves. */
export interface Subtree {
  readonly height: number;
  readonly index: number;
}

/** The full subtrees that a range of a tree is made of; `from` is 0 or a split of the RFC. */
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

/** The root over full subtrees, from the left, each higher than those behind it. */
export function joinSubtrees(hashes: readonly Hash[]): Hash {
  const last = hashes.at(-1);
  if (last === undefined) throw new RangeError("there is no subtree");
  return hashes.slice(0, -1).reduceRight((joined, hash) => hashNode(hash, joined), last);
}

/**
 * The ranges whose hashes prove that a leaf is in a tree, in the order of the proof.
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
 * The ranges whose hashes prove that a tree begins with an older one, in the order of the proof.
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
  // What is left is all of the older tree, whose root who asks has, or the right end of it.
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

/** Whether a tree begins with an older one. @see RFC 9162 section 2.1.4.2 */
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

/** The largest power of two below a number from 2 on. */
function splitOf(count: number): number {
  let width = 1;
  while (2 * width < count) width *= 2;
  return width;
}

/** Not by shifting, which ends at 2^31. */
function half(number: number): number {
  return Math.floor(number / 2);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function sha256(input: Uint8Array): Hash {
  return hash("sha256", input, "buffer");
}
