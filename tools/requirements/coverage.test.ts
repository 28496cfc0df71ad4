import assert from "node:assert/strict";
import { resolve } from "node:path";
import test from "node:test";
import { parseSource } from "../tidy/source.ts";
import {
  type Citation,
  readCheckout,
  readCitations,
  readRequirements,
  repeated,
  uncovered,
  unknown,
} from "./coverage.ts";

const checkout = readCheckout(resolve(import.meta.dirname, "../.."));

test("every requirement that must hold today has a test", () => {
  const { requirements, citations } = checkout;
  const names = uncovered(requirements, citations).map(({ id }) => id);
  assert.equal(names.length, 0, `${names.length} have no test:\n${names.join("\n")}`);
});

test("every id that a test cites is in the table", () => {
  const { requirements, citations } = checkout;
  const places = unknown(requirements, citations).map(place);
  assert.equal(places.length, 0, `not in the table:\n${places.join("\n")}`);
});

test("no id is in the table twice", () => {
  assert.deepEqual(repeated(checkout.requirements), []);
});

test("the table has entries of both modes, and promises", () => {
  const { requirements } = checkout;
  assert.ok(requirements.some(({ mode }) => mode === "synchronous"));
  assert.ok(requirements.some(({ mode }) => mode === "asynchronous"));
  assert.ok(requirements.some(({ id }) => id.startsWith("ours.")));
});

test("a citation is every id in brackets at the start of a test's name", () => {
  assert.deepEqual(cited('test("[a.b] works", () => {});'), ["a.b"]);
  assert.deepEqual(cited('test("[a.b] [c.d] works", () => {});'), ["a.b", "c.d"]);
  assert.deepEqual(cited("it(`[a.b] works`, () => {});"), ["a.b"]);
  assert.deepEqual(cited("test(`[a.b] on $" + "{engine}`, () => {});"), ["a.b"]);
  assert.deepEqual(cited('t.test("[a.b] works", () => {});'), ["a.b"]);
  assert.deepEqual(cited('testOnEveryStore("[a.b] works", () => {});'), ["a.b"]);
});

test("brackets elsewhere cite nothing", () => {
  assert.deepEqual(cited('test("works [a.b]", () => {});'), []);
  assert.deepEqual(cited("test(`$" + "{id} [a.b]`, () => {});"), []);
  assert.deepEqual(cited('describe("[a.b]", () => {});'), []);
  assert.deepEqual(cited('// test("[a.b] works", () => {});'), []);
  assert.deepEqual(cited("const text = 'test(\"[a.b] works\")';"), []);
});

test("entries of both modes need a test", () => {
  const table = readRequirements(yaml(entry("a.b"), entry("c.d", "asynchronous")));
  assert.deepEqual(uncovered(table, []).map(idOf), ["a.b", "c.d"]);
  assert.deepEqual(uncovered(table, [citation("a.b")]).map(idOf), ["c.d"]);
});

test("a promise needs a test too", () => {
  const table = readRequirements(yaml("", entry("ours.x"), "promises"));
  assert.deepEqual(uncovered(table, []).map(idOf), ["ours.x"]);
});

test("a citation of nothing is found, with its place", () => {
  const table = readRequirements(yaml(entry("a.b")));
  assert.deepEqual(unknown(table, [citation("a.b"), citation("a.c")]), [citation("a.c")]);
});

test("a repeated id is named once", () => {
  const table = readRequirements(yaml(entry("a.b"), entry("a.b")));
  assert.deepEqual(repeated(table), ["a.b"]);
});

test("a wrong entry is refused by name", () => {
  assert.throws(() => readRequirements(yaml(entry("A b"))), /wrong id A b/);
  assert.throws(() => readRequirements(yaml(entry("a.b", "later"))), /a\.b has no mode/);
  assert.throws(() => readRequirements(yaml(entry("a.b", "synchronous", ""))), /a\.b has not/);
  assert.throws(() => readRequirements(yaml(`${entry("a.b")}, more: 1`)), /a\.b has not/);
  assert.throws(() => readRequirements(yaml(entry("ours.a"))), /ours\.a is in the wrong section/);
  assert.throws(() => readRequirements("requirements: []"), /no list of promises/);
});

function cited(text: string): string[] {
  return readCitations([parseSource("tools/a.test.ts", text)]).map(idOf);
}

function citation(id: string): Citation {
  return { id, file: "tools/a.test.ts", line: 1 };
}

function place({ id, file, line }: Citation): string {
  return `${file}:${line}: ${id}`;
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

function entry(id: string, mode = "synchronous", text = "It works."): string {
  return `id: ${id}, source: Somewhere, mode: ${mode}, since: "1.0.0", text: "${text}"`;
}

/** A table with two entries at most, the second one in the section that is named. */
function yaml(first: string, second = "", section = "requirements"): string {
  const inRequirements = [first, section === "requirements" ? second : ""];
  const inPromises = [section === "promises" ? second : ""];
  const list = (entries: string[]): string =>
    `[${entries
      .filter((each) => each !== "")
      .map((each) => `{ ${each} }`)
      .join(", ")}]`;
  return `requirements: ${list(inRequirements)}\npromises: ${list(inPromises)}\n`;
}
