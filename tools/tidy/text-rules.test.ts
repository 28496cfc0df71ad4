import assert from "node:assert/strict";
import test from "node:test";
import type { Violation } from "./source.ts";
import {
  lineLength,
  logicalProperties,
  migrationNumbers,
  noMarkers,
  noPlaces,
} from "./text-rules.ts";

// The forbidden texts are put together here, so that the rules accept this file.
const REGISTRY = ["registry", "npmjs", "org"].join(".");
const OTHER_REGISTRY = ["pypi", "org"].join(".");

type Rule = (path: string, text: string) => Violation[];

function judged(rule: Rule, text: string, path = "packages/server/src/it.ts"): string[] {
  return rule(path, text).map(({ line, message }) => `${line}: ${message}`);
}

test("a line has at most 100 characters", () => {
  const long = `// ${"x".repeat(98)}`;
  assert.deepEqual(judged(lineLength, `go();\n${long}`), [
    "2: 101 characters; a line has at most 100",
  ]);
  assert.deepEqual(judged(lineLength, long.slice(1)), []);
  assert.deepEqual(judged(lineLength, long, "docs/it.md"), []);
});

test("a string that cannot be broken may be longer", () => {
  const tail = "x".repeat(100);
  const testFile = "packages/server/test/it.test.ts";
  assert.deepEqual(judged(lineLength, `"https://example.com/${tail}",`), []);
  assert.deepEqual(judged(lineLength, `import { it } from "./${tail}.ts";`), []);
  assert.deepEqual(judged(lineLength, `test("[a.b] ${tail}", () => {`, testFile), []);
  assert.equal(judged(lineLength, `test("${tail}", () => {`, testFile).length, 1);
});

test("a file contains no note to oneself and no silenced compiler", () => {
  for (const marker of [
    ["TO", "DO"],
    ["FIX", "ME"],
    ["X", "XX"],
    ["HA", "CK"],
  ]) {
    const word = marker.join("");
    assert.deepEqual(judged(noMarkers, `go();\n// ${word}: later`), [
      `2: note to oneself: do it or plan it elsewhere: ${word}`,
    ]);
  }
  assert.deepEqual(judged(noMarkers, ["// @ts", "nocheck"].join("-")), [
    `1: silenced compiler: fix the type: ${["@ts", "nocheck"].join("-")}`,
  ]);
  assert.deepEqual(judged(noMarkers, "// a todo list, and hackers"), []);
});

test("a file contains no path of one machine", () => {
  for (const folder of ["work", "farm", "home"]) {
    const path = ["", folder, "anna", "it.ts"].join("/");
    assert.deepEqual(judged(noPlaces, `see\n${path}`), [`2: path of one machine: /${folder}/anna`]);
  }
  const accepted = ["src/work/it.ts", "https://example.com/home/it", "homework/it", "/var/lib"];
  for (const text of accepted) assert.deepEqual(judged(noPlaces, text), [], text);
});

test("a file names no registry, except a lockfile", () => {
  assert.deepEqual(judged(noPlaces, `from https://${REGISTRY}/it`), [
    `1: registry host: ${REGISTRY}`,
  ]);
  assert.deepEqual(judged(noPlaces, OTHER_REGISTRY), [`1: registry host: ${OTHER_REGISTRY}`]);
  const setting = ["registry", "http://localhost:4873"].join("=");
  assert.deepEqual(judged(noPlaces, setting, ".npmrc"), [`1: registry address: ${setting}`]);
  for (const text of ["registry.metrics()", "the package registry"]) {
    assert.deepEqual(judged(noPlaces, text), [], text);
  }
  assert.deepEqual(judged(noPlaces, REGISTRY, "package-lock.json"), []);
});

test("CSS uses logical properties instead of left and right", () => {
  const css = (text: string) => judged(logicalProperties, text, "packages/console/src/it.css");
  const property = "a property that right-to-left pages do not mirror; use its logical one";
  assert.deepEqual(css("a {\n  margin-left: 0;\n  left: 0;\n}"), [
    `2: ${property}: margin-left`,
    `3: ${property}: left`,
  ]);
  assert.deepEqual(css("a { border-right-color: red }"), [`1: ${property}: border-right-color`]);
  assert.deepEqual(css("td { text-align: right; }"), [
    "1: a value that right-to-left pages do not mirror; use its logical one: right",
  ]);
  const accepted = ["a { inset-inline-start: 0; }", ".left:hover { top: 0; }", "/* left: no */"];
  for (const text of accepted) assert.deepEqual(css(text), [], text);
  assert.deepEqual(judged(logicalProperties, "left: 0", "docs/it.md"), []);
});

test("two migrations do not have the same number", () => {
  const folder = "packages/server/src/storage/migrations";
  const paths = [`${folder}/0001_a.sql`, `${folder}/0002_c.sql`, `${folder}/0002_b.sql`];
  assert.deepEqual(migrationNumbers(paths), [
    { file: `${folder}/0002_c.sql`, line: 1, message: "0002_b.sql has the same number" },
  ]);
  assert.deepEqual(migrationNumbers([...paths.slice(0, 2), "other/0001_a.sql"]), []);
});
