// Needs: git
import assert from "node:assert/strict";
import { resolve } from "node:path";
import test from "node:test";
import { parseSource } from "../tidy/source.ts";
import {
  type Citation,
  readCheckout,
  readCitations,
  readProductRequirements,
  repeated,
  uncovered,
  unknown,
} from "./coverage.ts";

const checkout = readCheckout(resolve(import.meta.dirname, "../.."));

test("every requirement has a test", () => {
  const { requirements, citations } = checkout;
  const names = uncovered(requirements, citations).map(({ id }) => id);
  assert.equal(names.length, 0, `${names.length} have no test:\n${names.join("\n")}`);
});

test("every id that a test cites is known", () => {
  const { requirements, citations } = checkout;
  const places = unknown(requirements, citations).map(place);
  assert.equal(places.length, 0, `unknown ids:\n${places.join("\n")}`);
});

test("no id is listed twice", () => {
  assert.deepEqual(repeated(checkout.requirements), []);
});

test("the requirements are the rules of the contract and the product's own", () => {
  const ids = checkout.requirements.map(({ id }) => id);
  assert.ok(ids.includes("request.cancel.terminal"));
  assert.ok(ids.some((id) => id.startsWith("ours.")));
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

test("a requirement without a citation is uncovered", () => {
  const table = readProductRequirements(yaml(entry("ours.b"), entry("ours.d")));
  assert.deepEqual(uncovered(table, []).map(idOf), ["ours.b", "ours.d"]);
  assert.deepEqual(uncovered(table, [citation("ours.b")]).map(idOf), ["ours.d"]);
});

test("a citation of an unknown id is found, with its place", () => {
  const table = readProductRequirements(yaml(entry("ours.b")));
  const citations = [citation("ours.b"), citation("a.c")];
  assert.deepEqual(unknown(table, citations), [citation("a.c")]);
});

test("a repeated id is named once", () => {
  const table = readProductRequirements(yaml(entry("ours.b"), entry("ours.b")));
  assert.deepEqual(repeated(table), ["ours.b"]);
});

test("an invalid entry is rejected by its id", () => {
  const read = (...entries: string[]) => readProductRequirements(yaml(...entries));
  assert.throws(() => read(entry("ours.A b")), /wrong id ours\.A b/);
  assert.throws(() => read(entry("request.read")), /wrong id request\.read/);
  assert.throws(() => read(entry("ours.b", "")), /ours\.b does not have/);
  assert.throws(() => read(`${entry("ours.b")}, more: 1`), /ours\.b does not have/);
  assert.throws(() => readProductRequirements("promises: []"), /no list of requirements/);
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

function entry(id: string, text = "It works."): string {
  return `id: ${id}, source: Somewhere, since: "1.0.0", text: "${text}"`;
}

function yaml(...entries: string[]): string {
  return `requirements: [${entries.map((each) => `{ ${each} }`).join(", ")}]\n`;
}
