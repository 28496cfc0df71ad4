import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { KEPT_KINDS, KeptDigest, readCut } from "./audit-cut.ts";

const ENTRY = {
  id: "a",
  at: 1,
  kind: "audit.pruned",
  actor: "operator:cli",
  subject: "audit:o",
};
const DETAIL = {
  size: 7,
  until: 9,
  kept_sha256: "aa",
};

test("the cut is read from an entry audit.pruned, and from no other entry", () => {
  const cut = { size: 7, until: 9, keptSha256: "aa" };
  assert.deepEqual(readCut({ ...ENTRY, detail: DETAIL }), cut);
  assert.equal(readCut({ ...ENTRY, kind: "rows.erased", detail: DETAIL }), undefined);
  assert.equal(readCut({ ...ENTRY, detail: { ...DETAIL, size: "7" } }), undefined);
  assert.equal(readCut({ ...ENTRY, detail: { ...DETAIL, kept_sha256: 7 } }), undefined);
});

test("the digest of kept entries depends on their positions, contents and order", () => {
  const digestOf = (...entries: readonly (readonly [number, number])[]) => {
    const digest = new KeptDigest();
    for (const [position, byte] of entries) digest.add(position, Uint8Array.of(byte));
    return digest.hex();
  };
  const digests = [
    digestOf(),
    digestOf([1, 2]),
    digestOf([2, 2]),
    digestOf([1, 3]),
    digestOf([1, 2], [2, 3]),
    digestOf([2, 3], [1, 2]),
  ];
  assert.equal(new Set(digests).size, digests.length);
  assert.equal(digestOf([1, 2]), digestOf([1, 2]));
});

test("the index of kept entries has the kinds that stay", () => {
  const file = new URL("../storage/migrations/0038_kept_entries.sql", import.meta.url);
  const kinds = [...readFileSync(file, "utf8").matchAll(/'([^']+)'/g)].map(([, kind]) => kind);
  assert.deepEqual(kinds.toSorted(), KEPT_KINDS.toSorted());
});
