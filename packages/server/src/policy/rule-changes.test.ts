import assert from "node:assert/strict";
import { test } from "node:test";
import { loadPolicy } from "./load.ts";
import type { Rule } from "./rule.ts";
import { compareRules } from "./rule-changes.ts";

function rules(...lines: readonly string[]): readonly Rule[] {
  const source = `version: 1\nrules:\n${lines.map((line) => `  - { ${line} }\n`).join("")}`;
  return loadPolicy(source, { kind: "project" }).rules;
}

test("rules are added, removed or changed by what they mean", () => {
  const before = rules(
    'id: same, match: { tool: ["a", "b"], instance: { group: [x, y] } }, then: ask',
    'id: gone, match: { tool: "c" }, then: deny',
    'id: other-verb, match: { tool: "d" }, then: deny',
    'id: other-condition, match: { tool: "e" }, when: "args.n > 1", then: deny',
    'id: other-people, match: { tool: "f" }, then: ask, ask: { from: ["group:a"] }',
    'id: other-text, match: { tool: "g" }, then: ask, ask: { confirm: type(args.repo) }',
  );
  const after = rules(
    'id: new, match: { tool: "h" }, then: deny',
    'id: other-text, match: { tool: "g" }, then: ask, ask: { confirm: type(args.name) }',
    'id: other-people, match: { tool: "f" }, then: ask, ask: { from: ["group:b"] }',
    'id: other-condition, match: { tool: "e" }, when: "args.n > 2", then: deny',
    'id: other-verb, match: { tool: "d" }, then: ask',
    'match: { instance: { group: ["y", "x"] }, tool: [b, a] }, then: ask, id: same',
  );
  assert.deepEqual(compareRules(before, after), {
    added: ["new"],
    changed: ["other-condition", "other-people", "other-text", "other-verb"],
    removed: ["gone"],
  });
  assert.deepEqual(compareRules(before, before), { added: [], changed: [], removed: [] });
});
