import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSource } from "../tidy/source.ts";
import { apply, findMutants } from "./mutants.ts";
import { findFiles, testsOf } from "./mutation.ts";
import { MEASURED } from "./targets.ts";

function mutantsOf(text: string): string[] {
  const mutants = findMutants(parseSource("a.ts", text));
  return mutants.map((mutant) => apply(text, mutant));
}

test("each operator, condition, literal, call, refusal and answer is a place for a fault", () => {
  assert.deepEqual(mutantsOf("const a = b < 2;"), ["const a = b <= 2;", "const a = b >= 2;"]);
  assert.deepEqual(mutantsOf("const a = !b;"), ["const a = (b);"]);
  assert.deepEqual(mutantsOf("if (a) {}"), ["if (true) {}", "if (false) {}"]);
  assert.deepEqual(mutantsOf('const a = "b";'), ['const a = "";']);
  assert.deepEqual(mutantsOf("const a = true;"), ["const a = false;"]);
  assert.deepEqual(mutantsOf("go(a);"), ["{}"]);
  assert.deepEqual(mutantsOf("throw a;"), ["{}"]);
  const answer = "function f() { return a; }";
  assert.deepEqual(mutantsOf(answer), ["function f() { return (undefined as never); }"]);
});

test("types, imports and the messages of defects get no mutants", () => {
  for (const text of [
    'import { a } from "b";',
    'type A = "b" | 1;',
    'interface A { readonly b: "c"; }',
    "export type { A } from './a.ts';",
    'const a = new Error("the house is broken");',
  ]) {
    assert.deepEqual(mutantsOf(text), [], text);
  }
});

test("every file that is measured is there, and a test is said to hold it", () => {
  for (const pattern of MEASURED) assert.notEqual(findFiles([pattern]).length, 0, pattern);
  for (const file of findFiles(MEASURED)) assert.notEqual(testsOf(file).length, 0, file);
});
