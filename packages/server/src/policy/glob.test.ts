import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { matchesGlob, readGlob } from "./glob.ts";
import { Meter, StepsExceeded } from "./meter.ts";

function fits(pattern: string, text: string, steps = 1_000_000): boolean {
  const glob = readGlob(pattern);
  assert.ok(glob !== undefined, pattern);
  return matchesGlob(glob, text, new Meter(steps));
}

/** The same pattern as an expression that may backtrack: slow, and known to be right. */
function expressionOf(pattern: string): RegExp {
  const parts = [...pattern.matchAll(/\\(.)|([^\\])/gsu)].map(([, escaped, plain]) => {
    if (plain === "*") return "[^]*";
    if (plain === "?") return "[^]";
    return (escaped ?? plain ?? "").replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`, "u");
}

test("a pattern fits the whole text, and case matters", () => {
  assert.ok(fits("stripe.refund*", "stripe.refund"));
  assert.ok(fits("stripe.refund*", "stripe.refund_all"));
  assert.ok(!fits("stripe.refund*", "not.stripe.refund"));
  assert.ok(!fits("stripe.refund*", "Stripe.refund"));
  assert.ok(!fits("db", "db.drop"));
  assert.ok(fits("*.delete*", "files.delete"));
  assert.ok(fits("a?c", "a😀c"));
  assert.ok(!fits("a??c", "a😀c"));
  assert.ok(fits("\\*", "*"));
  assert.ok(!fits("\\*", "x"));
});

test("a pattern that ends in a lone backslash or is too long is not valid", () => {
  assert.equal(readGlob("a\\"), undefined);
  assert.equal(readGlob("a".repeat(513)), undefined);
});

test("a pattern of wildcards only is known for what it is", () => {
  for (const source of ["*", "**", "?*", "*?", "*?*"]) assert.ok(readGlob(source)?.everything);
  for (const source of ["a*", "?", "", "\\*", "*.*"]) assert.ok(!readGlob(source)?.everything);
});

test("[ours.policy.glob] a pattern fits what the same expression fits", () => {
  const letters = fc.constantFrom("a", "b", "😀", "*", "?", "\\a", "\\*", "\\\\", ".");
  const patterns = fc.array(letters, { maxLength: 8 }).map((parts) => parts.join(""));
  const texts = fc.array(fc.constantFrom("a", "b", "😀", "*", "\\", "."), { maxLength: 10 });
  const property = fc.property(patterns, texts, (pattern, parts) => {
    const text = parts.join("");
    assert.equal(fits(pattern, text), expressionOf(pattern).test(text));
  });
  fc.assert(property, { numRuns: 3_000 });
});

test("[ours.policy.glob] no pattern takes more than text times pattern", () => {
  const text = "a".repeat(100_000);
  assert.equal(fits(`${"*a".repeat(200)}*b`, text), false);
  assert.equal(fits(`*${"a".repeat(500)}b*`, text), false);
  assert.throws(() => fits(`*${"?a".repeat(250)}b*`, text, 50_000), StepsExceeded);
});
