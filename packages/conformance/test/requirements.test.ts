import assert from "node:assert/strict";
import { test } from "node:test";
import { REQUIREMENTS, SCENARIOS } from "@countersign/conformance";

const cited = new Set<string>(SCENARIOS.flatMap(({ requirements }) => requirements));

test("[ours.conformance.requirements] every rule with a scenario check has at least one scenario", () => {
  const open = REQUIREMENTS.filter(({ id, check }) => check === "scenario" && !cited.has(id));
  assert.deepEqual(
    open.map(({ id }) => id),
    [],
  );
});

test("[ours.conformance.requirements] every rule has a section, a sentence, and a check or a reason", () => {
  for (const { id, source, text, check, untestable } of REQUIREMENTS) {
    assert.match(id, /^[a-z]+(\.[a-z]+(-[a-z0-9]+)*)+$/);
    assert.notEqual(source, "", id);
    assert.match(text, /^[A-Z`].*\.$/, id);
    assert.notEqual(check === undefined, untestable === undefined, id);
    assert.ok(untestable === undefined || !cited.has(id), id);
  }
});

test("[ours.conformance.requirements] every section of the contract for providers is included", () => {
  const sections = new Set(REQUIREMENTS.map(({ source }) => source.split(",")[0]));
  for (const section of [
    "What the service does",
    "Resources",
    "States",
    "Endpoints",
    "Authentication",
    "Events",
    "Errors",
    "Limits",
    "Versioning",
  ]) {
    assert.ok(sections.has(section), section);
  }
});

test("a scenario has a unique id, a sentence and a rule", () => {
  assert.equal(new Set(SCENARIOS.map(({ id }) => id)).size, SCENARIOS.length);
  for (const { id, title, requirements } of SCENARIOS) {
    assert.match(id, /^[a-z]+(\.[a-z]+(-[a-z]+)*)+$/);
    assert.match(title, /^\S.*[^.]$/, id);
    assert.ok(requirements.length > 0, id);
  }
});
