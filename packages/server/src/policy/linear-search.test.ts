import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { indexWithin } from "./linear-search.ts";

test("text is found where indexOf finds it, however long both are", () => {
  const piece = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 });
  const property = fc.property(piece, piece, fc.nat(300), fc.nat(2_000), (one, other, n, from) => {
    const wanted = one.repeat(n) + other;
    const text = one.repeat(1_500) + other + one.repeat(400);
    assert.equal(indexWithin(text, wanted, from), text.indexOf(wanted, from));
  });
  fc.assert(property, { numRuns: 300 });
  assert.equal(indexWithin("abc", "", 1), 1);
  assert.equal(indexWithin("abc", "abcd", 0), -1);
});
