import assert from "node:assert/strict";
import test from "node:test";
import { judge, serverPath } from "./fixture.ts";
import { statedPurpose } from "./purpose-rule.ts";

const PATH = serverPath("steps/requests/recordVote.ts");
const IMPORT = 'import { it } from "./it.ts";\n\n';

function judged(text: string, path = PATH): string[] {
  return judge(statedPurpose, path, text);
}

const MISSING = [
  "1: states no purpose: begin it, or the docstring of its only export, with a sentence",
];

test("a file that begins with a comment states its purpose", () => {
  const functions = "export function one() {}\nexport function two() {}\n";
  assert.deepEqual(judged(`/** Records votes. */\n\n${IMPORT}${functions}`), []);
  assert.deepEqual(judged(`// Records votes.\n${functions}`), []);
  assert.deepEqual(judged(`#!/usr/bin/env node\n/** Records votes. */\n${functions}`), []);
  assert.deepEqual(judged(`${IMPORT}/** Records votes. */\n${functions}`), MISSING);
});

test("the docstring of the only exported function states the purpose of its file", () => {
  const documented = "/** Records a vote. */\nexport async function recordVote() {}\n";
  assert.deepEqual(judged(IMPORT + documented), []);
  assert.deepEqual(judged(`${IMPORT}export interface Vote {}\n\n${documented}`), []);
  assert.deepEqual(judged(`${IMPORT}const MAX = 1;\nexport { MAX };\n${documented}`), []);
  assert.deepEqual(judged(`${IMPORT}${documented}\nexport class Other {}\n`), MISSING);
  assert.deepEqual(judged(`${IMPORT}export function recordVote() {}\n`), MISSING);
  assert.deepEqual(judged(IMPORT), MISSING);
});

test("a docstring that begins with a tag states no purpose", () => {
  const of = (docstring: string) => judged(`${IMPORT}${docstring}\nexport function it() {}\n`);
  assert.deepEqual(of("/** @throws Problem */"), MISSING);
  assert.deepEqual(of("/**\n * @throws Problem\n */"), MISSING);
  assert.deepEqual(of("/** */"), MISSING);
  assert.deepEqual(of("/**\n * Checks a vote.\n *\n * @throws Problem\n */"), []);
});

test("without functions, the only constant or type is the main export", () => {
  const constant = "/** The version. */\nexport const VERSION = 1;\n";
  assert.deepEqual(judged(IMPORT + constant), []);
  assert.deepEqual(judged(`${IMPORT}export type It = 1;\n${constant}`), []);
  assert.deepEqual(judged(`${IMPORT}${constant}export const OTHER = 1;\n`), MISSING);
  assert.deepEqual(judged(`${IMPORT}/** A vote. */\nexport interface Vote {}\n`), []);
});

test("a test needs no statement of its purpose", () => {
  assert.deepEqual(judged(IMPORT, serverPath("steps/requests/recordVote.test.ts")), []);
  assert.deepEqual(judged(IMPORT, "packages/server/test/support/until.ts"), []);
});
