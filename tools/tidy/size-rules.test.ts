import assert from "node:assert/strict";
import test from "node:test";
import { house, judge } from "./fixture.ts";
import { fileLength, functionLength, lineLength } from "./size-rules.ts";

const PATH = house("http/routes.ts");
const TEST = "packages/server/test/routes.test.ts";

/** Statements that fill this many lines. */
function lines(count: number): string {
  return Array.from({ length: count }, () => "go();\n").join("");
}

test("a file has at most 500 lines", () => {
  assert.deepEqual(judge(fileLength, PATH, lines(500)), []);
  assert.deepEqual(judge(fileLength, PATH, lines(501)), ["501: 501 lines; a file has at most 500"]);
  assert.equal(judge(fileLength, TEST, lines(501)).length, 1);
});

test("a line has at most 100 characters", () => {
  const exact = `const it = "${"x".repeat(86)}";`;
  assert.equal(exact.length, 100);
  assert.deepEqual(judge(lineLength, PATH, exact), []);
  assert.deepEqual(judge(lineLength, PATH, `\n ${exact}`), [
    "2: 101 characters; a line has at most 100",
  ]);
});

test("a line that is one string with a URL may be longer", () => {
  const url = `https://example.com/${"x".repeat(100)}`;
  assert.deepEqual(judge(lineLength, PATH, `go(\n  "see ${url}",\n);`), []);
  assert.deepEqual(judge(lineLength, PATH, `const it =\n  "${url}";`), []);
  assert.equal(judge(lineLength, PATH, `const it = "${url}";`).length, 1);
  assert.equal(judge(lineLength, PATH, `const it =\n  "${"x".repeat(100)}";`).length, 1);
});

test("a function of any kind has at most 80 lines", () => {
  const kinds = [
    ["function it() {\n", "}"],
    ["const it = () => {\n", "};"],
    ["const it = function () {\n", "};"],
    ["class It { it() {\n", "} }"],
    ["class It { constructor() {\n", "} }"],
    ["class It { get it() {\n", "} }"],
    ["const it = { it() {\n", "} };"],
  ] as const;
  for (const [open, close] of kinds) {
    const message = ["1: 81 lines; a function has at most 80"];
    assert.deepEqual(judge(functionLength, PATH, open + lines(78) + close), [], open);
    assert.deepEqual(judge(functionLength, PATH, open + lines(79) + close), message, open);
  }
});

test("a docstring does not count, the signature does", () => {
  const doc = `/**\n${" * why\n".repeat(90)} */\n`;
  const short = `function it() {\n${lines(78)}}`;
  assert.deepEqual(judge(functionLength, PATH, doc + short), []);
  const long = `function it(\n  a: string,\n) {\n${lines(77)}}`;
  assert.deepEqual(judge(functionLength, PATH, long), ["1: 81 lines; a function has at most 80"]);
});

test("braces in texts, comments and patterns mislead nobody", () => {
  const text = `function it() {\n  const a = "}"; // }\n  const b = /}{/;\n${lines(60)}}\n`;
  assert.deepEqual(judge(functionLength, PATH, text + text), []);
});

test("a suite is as long as its file may be, its tests are not", () => {
  const suite = `describe("it", () => {\n${lines(90)}});`;
  assert.deepEqual(judge(functionLength, TEST, suite), []);
  assert.equal(judge(functionLength, PATH, suite).length, 1);
  assert.equal(judge(functionLength, TEST, suite.replace("describe", "test")).length, 1);
});
