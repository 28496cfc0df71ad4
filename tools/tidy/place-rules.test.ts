import assert from "node:assert/strict";
import test from "node:test";
import { noPlaces } from "./place-rules.ts";

// The forbidden texts are put together here, so that this file may hold them.
const REGISTRY = ["registry", "npmjs", "org"].join(".");
const OTHER_REGISTRY = ["pypi", "org"].join(".");

function places(text: string, path = "docs/start.md"): string[] {
  return noPlaces(path, text).map(({ line, message }) => `${line}: ${message}`);
}

test("no path of one machine is named", () => {
  for (const folder of ["work", "farm", "home"]) {
    const path = ["", folder, "anna", "it.ts"].join("/");
    assert.deepEqual(places(`see\n${path}`), [`2: path of one machine: /${folder}/anna`]);
    assert.deepEqual(places(`"file://${path}"`), [`1: path of one machine: /${folder}/anna`]);
  }
  const fine = ["src/work/it.ts", "https://example.com/home/it", "homework/it", "/var/lib"];
  for (const text of fine) assert.deepEqual(places(text), [], text);
});

test("no registry is named", () => {
  assert.deepEqual(places(`from https://${REGISTRY}/it`), [`1: registry host: ${REGISTRY}`]);
  assert.deepEqual(places(OTHER_REGISTRY), [`1: registry host: ${OTHER_REGISTRY}`]);
  const setting = ["registry", "http://localhost:4873"].join("=");
  assert.deepEqual(places(setting, ".npmrc"), [`1: registry address: ${setting}`]);
  const fine = ["registry.metrics()", "registry.contentType", "the package registry"];
  for (const text of fine) assert.deepEqual(places(text), [], text);
});

test("a lockfile may name its registry", () => {
  assert.deepEqual(places(REGISTRY, "package-lock.json"), []);
  assert.equal(places(REGISTRY, "package.json").length, 1);
});
