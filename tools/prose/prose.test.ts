import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { applyExceptions, findProse, type Place } from "./prose.ts";
import { readGlossary } from "./rules.ts";

const GLOSSARY = readGlossary();

/** Names, so that the check does not find them in this file. */
const TOLD = "told";
const IN_FORCE = "in force";

/** Each finding as `line:column rule words`. */
function findIn(file: string, text: string): string[] {
  const places = findProse(new Map([[file, text]]), GLOSSARY);
  return places.map(({ line, column, rule, words }) => `${line}:${column} ${rule} "${words}"`);
}

function findInPlanted(name: string): string[] {
  const text = readFileSync(join(import.meta.dirname, "planted", `${name}.txt`), "utf8");
  return findIn(name, text);
}

test("Markdown: text, quotations, lists and tables are prose; code and URLs are not", () => {
  assert.deepEqual(findInPlanted("page.md"), [
    '1:17 notify "told"',
    '3:1 nobody "Nobody"',
    '3:61 notify "told"',
    '6:25 nobody "somebody"',
    '16:26 notify "told"',
    '18:3 sentence-length "A list item with"',
    '21:11 stands "stands"',
  ]);
});

test("YAML: descriptions and comments are prose; other values are not", () => {
  assert.deepEqual(findInPlanted("contract.yaml"), [
    '1:38 notify "told"',
    '4:29 notify "told"',
    '12:7 nobody "Nobody"',
  ]);
});

test("HTML: text and displayed attributes are prose; scripts and code are not", () => {
  assert.deepEqual(findInPlanted("page.html"), [
    '2:8 nobody "Nobody"',
    '6:16 nobody "Nobody"',
    '6:52 notify "told"',
  ]);
});

test("TypeScript: sentences, JSX, titles and comments are prose; names and SQL are not", () => {
  assert.deepEqual(findInPlanted("program.tsx"), [
    '2:18 notify "told"',
    '4:32 notify "told"',
    '8:24 nobody "nobody"',
    '9:20 nobody "Nobody"',
    '9:36 notify "told"',
    `9:56 active "${IN_FORCE}"`,
    '9:64 exclamation "force!"',
    '12:43 nobody "nobody"',
    '12:53 notify "told"',
    '12:76 notify "told"',
    '14:41 nobody "nobody"',
    '14:51 notify "told"',
    '15:32 notify "told"',
    '21:31 nobody "nobody"',
  ]);
});

test("a number or a unit at the end of a sentence ends it", () => {
  const half =
    "The server waits as long as the longest poll of all agents in this project, but at most";
  for (const end of ["400", "5 s"]) {
    assert.deepEqual(findIn("README.md", `${half} ${end}. ${half} ${end}.`), []);
    assert.equal(findIn("README.md", `${half} ${end} ${half} ${end}.`).length, 1);
  }
});

test("the text of a JSDoc tag continues the tag", () => {
  assert.deepEqual(findIn("it.ts", "/** @returns what the command printed */"), []);
  assert.deepEqual(findIn("it.ts", "/** What the command printed */"), [
    '1:5 subject-clause "What"',
  ]);
});

test("an indented line of a template begins a sentence", () => {
  const line = "The server waits as long as the longest poll of all agents in this project\n";
  assert.deepEqual(findIn("it.ts", `const help = \`${`  ${line}`.repeat(4)}\`;`), []);
});

const SENTENCE = `Reviewers are ${TOLD}.`;
const PLACES: readonly Place[] = findProse(new Map([["README.md", SENTENCE]]), GLOSSARY);

test("the allowlist: an entry removes the findings of its words in its file", () => {
  const entry = { file: "README.md", words: "told", reason: "a quotation" };
  assert.deepEqual(applyExceptions(PLACES, [entry]), { findings: [], faults: [] });
});

test("the allowlist: an unused entry is a fault", () => {
  const entry = { file: "SECURITY.md", words: "told", reason: "a quotation" };
  const { findings, faults } = applyExceptions(PLACES, [entry]);
  assert.equal(findings.length, 1);
  assert.deepEqual(faults, [`allowlist.yaml: remove the unused entry "${TOLD}" in SECURITY.md`]);
});

test("the allowlist: 20 entries are a fault", () => {
  const entry = { file: "README.md", words: "told", reason: "a quotation" };
  const { faults } = applyExceptions(
    PLACES,
    Array.from({ length: 20 }, () => entry),
  );
  assert.deepEqual(faults, ["allowlist.yaml: 20 entries, at most 19"]);
});
