import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  areEqual,
  consistencyRanges,
  EMPTY_ROOT,
  Frontier,
  fullSubtrees,
  type Hash,
  hashLeaf,
  inclusionRanges,
  isConsistent,
  isIncluded,
  joinSubtrees,
  type Range,
} from "./merkle.ts";

/** MTH of RFC 9162 2.1.1, word for word. */
function naiveRoot(entries: readonly Uint8Array[]): Buffer {
  const sha = (...parts: readonly Uint8Array[]) => {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  if (entries.length === 0) return sha();
  if (entries.length === 1) return sha(Buffer.of(0), entries[0] as Uint8Array);
  let k = 1;
  while (k * 2 < entries.length) k *= 2;
  return sha(Buffer.of(1), naiveRoot(entries.slice(0, k)), naiveRoot(entries.slice(k)));
}

/** PATH of RFC 9162 2.1.3.1. */
function naivePath(m: number, entries: readonly Uint8Array[]): Buffer[] {
  if (entries.length <= 1) return [];
  let k = 1;
  while (k * 2 < entries.length) k *= 2;
  const [left, right] = [entries.slice(0, k), entries.slice(k)];
  if (m < k) return [...naivePath(m, left), naiveRoot(right)];
  return [...naivePath(m - k, right), naiveRoot(left)];
}

/** SUBPROOF of RFC 9162 2.1.4.1. */
function naiveSubproof(m: number, entries: readonly Uint8Array[], isWhole: boolean): Buffer[] {
  if (m === entries.length) return isWhole ? [] : [naiveRoot(entries)];
  let k = 1;
  while (k * 2 < entries.length) k *= 2;
  const [left, right] = [entries.slice(0, k), entries.slice(k)];
  if (m <= k) return [...naiveSubproof(m, left, isWhole), naiveRoot(right)];
  return [...naiveSubproof(m - k, right, false), naiveRoot(left)];
}

/** The leaves of the test vectors that certificate transparency logs have shared since RFC 6962. */
const VECTORS = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
].map((hex) => Buffer.from(hex, "hex"));

const ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const PATHS: readonly (readonly [number, number, readonly string[]])[] = [
  [0, 1, []],
  [
    0,
    8,
    [
      "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
  ],
  [
    5,
    8,
    [
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
  ],
  [2, 3, ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"]],
  [
    1,
    5,
    [
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
  ],
];

function hex(hash: Hash): string {
  return Buffer.from(hash).toString("hex");
}

function treeOf(entries: readonly Uint8Array[]): Frontier {
  const frontier = new Frontier();
  for (const entry of entries) frontier.append(hashLeaf(entry));
  return frontier;
}

/** By full subtrees, as those do it who have stored some of them. */
function hashOf(entries: readonly Uint8Array[], range: Range): Hash {
  const subtrees = fullSubtrees(range).map(({ height, index }) => {
    const width = 2 ** height;
    return treeOf(entries.slice(index * width, (index + 1) * width)).root();
  });
  return joinSubtrees(subtrees);
}

test("[ours.audit.sealed] roots and paths are those of the known vectors", () => {
  assert.equal(hex(EMPTY_ROOT), EMPTY);
  assert.equal(hex(new Frontier().root()), EMPTY);
  for (const [i, root] of ROOTS.entries()) {
    assert.equal(hex(treeOf(VECTORS.slice(0, i + 1)).root()), root);
  }
  for (const [position, size, path] of PATHS) {
    const entries = VECTORS.slice(0, size);
    const proof = inclusionRanges(position, size).map((range) => hashOf(entries, range));
    assert.deepEqual(proof.map(hex), path);
    const head = { size, root: Buffer.from(ROOTS[size - 1] ?? "", "hex") };
    assert.ok(isIncluded(hashLeaf(entries[position] ?? ""), position, head, proof));
  }
});

const TREES = fc
  .array(fc.uint8Array({ maxLength: 3 }), { minLength: 1, maxLength: 70 })
  .chain((entries) =>
    fc.record({
      entries: fc.constant(entries),
      m: fc.nat({ max: entries.length - 1 }),
      wrong: fc.nat({ max: entries.length + 2 }),
      bit: fc.nat(),
    }),
  );

test("[ours.audit.sealed] a tree has the root of the definition, also when it continues from its stored edge", () => {
  fc.assert(
    fc.property(TREES, ({ entries, m }) => {
      const prefix = treeOf(entries.slice(0, m));
      const reported: string[] = [];
      const frontier = new Frontier(prefix.size, prefix.subtrees);
      for (const entry of entries.slice(m)) {
        frontier.append(hashLeaf(entry), (height, index, hash) => {
          const width = 2 ** height;
          const leaves = entries.slice(index * width, (index + 1) * width);
          assert.equal(hex(hash), hex(naiveRoot(leaves)));
          reported.push(`${height} ${index}`);
        });
      }
      assert.equal(hex(frontier.root()), hex(naiveRoot(entries)));
      assert.equal(new Set(reported).size, reported.length);
      assert.throws(() => new Frontier(m, [...prefix.subtrees, EMPTY_ROOT]), RangeError);
    }),
  );
});

test("[ours.audit.sealed] a tree cannot continue from an invalid size", () => {
  for (const size of [-1, 0.5, Number.NaN, 2 ** 53]) {
    assert.throws(() => new Frontier(size, []), { name: "RangeError", message: /no tree has/ });
  }
});

test("[ours.audit.sealed] each full subtree is reported at its last leaf, the smaller ones first", () => {
  const frontier = new Frontier();
  const reported: string[] = [];
  const leaves = [0, 1, 2, 3, 4].map((n) => hashLeaf(Uint8Array.of(n)));
  for (const leaf of leaves) {
    frontier.append(leaf, (height, index, hash) => {
      const first = index * 2 ** height;
      const own = new Frontier();
      for (const each of leaves.slice(first, first + 2 ** height)) own.append(each);
      assert.deepEqual(Buffer.from(hash), Buffer.from(own.root()));
      reported.push(`${height}:${index}`);
    });
  }
  assert.deepEqual(reported, ["0:0", "0:1", "1:0", "0:2", "0:3", "1:1", "2:0", "0:4"]);
});

test("[ours.audit.proof] a proof of inclusion convinces of its leaf, position and tree, and of nothing else", () => {
  fc.assert(
    fc.property(TREES, ({ entries, m, wrong, bit }) => {
      const size = entries.length;
      const root = naiveRoot(entries);
      const leaf = hashLeaf(entries[m] ?? "");
      const proof = inclusionRanges(m, size).map((range) => hashOf(entries, range));
      assert.deepEqual(proof.map(hex), naivePath(m, entries).map(hex));
      assert.ok(isIncluded(leaf, m, { size, root }, proof));
      assert.ok(!isIncluded(hashLeaf("another one"), m, { size, root }, proof));
      assert.ok(!isIncluded(leaf, m, { size, root: flip(root, bit) }, proof));
      assert.ok(!isIncluded(leaf, m, { size, root }, [...proof, root]));
      if (proof.length > 0) {
        assert.ok(!isIncluded(leaf, m, { size, root }, proof.slice(1)));
        const at = bit % proof.length;
        const altered = proof.map((hash, i) => (i === at ? flip(hash, bit) : hash));
        assert.ok(!isIncluded(leaf, m, { size, root }, altered));
      }
      // Another position has another leaf, unless two entries are the same.
      const isSame = wrong < size && hex(hashLeaf(entries[wrong] ?? "")) === hex(leaf);
      if (wrong !== m && !isSame) assert.ok(!isIncluded(leaf, wrong, { size, root }, proof));
    }),
  );
});

test("[ours.audit.proof] a consistency proof verifies only for a tree that starts with the older one", () => {
  fc.assert(
    fc.property(TREES, ({ entries, m, bit }) => {
      const size = entries.length;
      const newer = { size, root: naiveRoot(entries) };
      const older = { size: m + 1, root: naiveRoot(entries.slice(0, m + 1)) };
      const proof = consistencyRanges(older.size, size).map((range) => hashOf(entries, range));
      assert.deepEqual(proof.map(hex), naiveSubproof(m + 1, entries, true).map(hex));
      assert.ok(isConsistent(older, newer, proof));
      assert.ok(!isConsistent({ ...older, root: flip(older.root, bit) }, newer, proof));
      assert.ok(!isConsistent(older, { ...newer, root: flip(newer.root, bit) }, proof));
      assert.ok(!isConsistent(older, newer, [...proof, newer.root]));
      if (older.size < size) assert.ok(!isConsistent(newer, older, proof));
      if (proof.length > 0) assert.ok(!isConsistent(older, newer, proof.slice(1)));
      const none = { size: 0, root: EMPTY_ROOT };
      assert.ok(isConsistent(none, newer, []));
    }),
  );
});

test("positions beyond 2^31 are positions", () => {
  const size = 2 ** 33 + 3;
  assert.equal(inclusionRanges(2 ** 32 + 1, size).length, 34);
  assert.deepEqual(
    fullSubtrees({ from: 0, to: size }).map(({ height }) => height),
    [33, 1, 0],
  );
});

function flip(hash: Hash, bit: number): Hash {
  const copy = Buffer.from(hash);
  const at = bit % (copy.length * 8);
  copy[at >> 3] = (copy[at >> 3] ?? 0) ^ (1 << (at % 8));
  assert.ok(!areEqual(copy, hash));
  return copy;
}

test("[ours.audit.checkpoint] a text is the same leaf as its bytes in UTF-8", () => {
  const bytes = Buffer.from("h\u00e9llo");
  const leaf = createHash("sha256")
    .update(Buffer.concat([Buffer.of(0), bytes]))
    .digest();
  assert.deepEqual(Buffer.from(hashLeaf("h\u00e9llo")), leaf);
  assert.deepEqual(Buffer.from(hashLeaf(bytes)), leaf);
});

test("[ours.audit.checkpoint] consistency fails for a larger older tree, and for another tree without a proof", () => {
  const roots = ["a", "b", "c", "d", "e"].map((text) => hashLeaf(text));
  const [one = EMPTY_ROOT, two = EMPTY_ROOT] = roots;
  assert.equal(isConsistent({ size: 2, root: one }, { size: 1, root: one }, []), false);
  assert.equal(isConsistent({ size: 3, root: one }, { size: 5, root: two }, []), false);
  assert.equal(isConsistent({ size: 0, root: EMPTY_ROOT }, { size: 2, root: two }, []), true);
  assert.equal(isConsistent({ size: 0, root: one }, { size: 2, root: two }, []), false);
  assert.equal(isConsistent({ size: 0, root: EMPTY_ROOT }, { size: 2, root: two }, [one]), false);
  assert.equal(isConsistent({ size: 2, root: one }, { size: 2, root: one }, [one]), false);
});
