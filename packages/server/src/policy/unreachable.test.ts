import assert from "node:assert/strict";
import { test } from "node:test";
import { loadPolicy } from "./load.ts";

function warningsOf(...rules: string[]): readonly string[] {
  const lines = rules.map((rule) => `  - ${rule}\n`);
  const source = `version: 1\nrules:\n${lines.join("")}`;
  const { warnings } = loadPolicy(source, { kind: "project" });
  return warnings.map(({ message }) => message).filter((message) => /never/.test(message));
}

const DENY = "{ id: no-db, match: { tool: db.* }, then: deny }";

test("a rule that a rule without a condition always overrides is reported with both", () => {
  const denied = /^this rule never decides: `no-db` on line 4 denies all calls that it matches$/;
  for (const rule of [
    "{ id: a, match: { tool: db.read }, then: approve }",
    "{ id: a, match: { tool: db.read.* }, when: args.id == 1, then: approve }",
    "{ id: a, match: { tool: [db.read, db.list], server: pg }, then: approve }",
    "{ id: a, match: { tool: db.read, instance: { group: ops } }, then: approve }",
    "{ id: a, match: { tool: db.write }, then: ask }",
  ]) {
    const [message, ...more] = warningsOf(rule, DENY);
    assert.match(message ?? "", denied, rule);
    assert.deepEqual(more, [], rule);
  }
  const asking = "{ id: b, then: ask }";
  const [message] = warningsOf("{ id: a, match: { tool: x }, then: approve }", asking);
  assert.match(message ?? "", /`b` on line 4 asks for all calls/);
});

test("a rule that may decide some call is not reported", () => {
  for (const [rule, other] of [
    ["{ id: a, match: { tool: db* }, then: approve }", DENY],
    ["{ id: a, match: { tool: [db.read, x.read] }, then: approve }", DENY],
    ["{ id: a, match: { tool: db.read }, then: deny }", "{ id: b, then: ask }"],
    ["{ id: a, match: { tool: db.read }, then: ask }", "{ id: b, then: ask }"],
    [
      "{ id: a, match: { tool: db.read }, then: approve }",
      "{ id: b, match: { tool: db.* }, when: args.n > 1, then: deny }",
    ],
    // A call can be without a server.
    [
      "{ id: a, match: { tool: db.read }, then: approve }",
      '{ id: b, match: { server: "*" }, then: deny }',
    ],
    [
      "{ id: a, match: { tool: db.read }, then: approve }",
      "{ id: b, match: { tool: db.read, instance: { group: ops } }, then: deny }",
    ],
    [
      "{ id: a, match: { tool: db.read, instance: { group: [ops, dev] } }, then: approve }",
      "{ id: b, match: { instance: { group: ops } }, then: deny }",
    ],
    [
      "{ id: a, match: { tool: db.r?ad }, then: approve }",
      "{ id: b, match: { tool: db.read }, then: deny }",
    ],
  ] as const) {
    assert.deepEqual(warningsOf(rule, other), [], `${rule} ${other}`);
  }
});

test("a condition that needs two values of one member is reported, and no other one", () => {
  const rule = (when: string) => `{ id: a, match: { tool: t }, when: '${when}', then: ask }`;
  for (const when of [
    'args.env == "a" && args.env == "b"',
    'args.n > 0 && args.env == "a" && args.env == "b"',
    "args.a.b == true && args.a.b == false",
    "args.n < 5 && args.n > 10",
    "args.n >= 10 && args.n <= 9",
  ]) {
    assert.match(warningsOf(rule(when))[0] ?? "", /^the condition is never true: /, when);
  }
  for (const when of [
    'args.env == "a" || args.env == "b"',
    'args.env == "a" && args.other == "b"',
    'args.env == "a" && args.env == "a"',
    "args.n == 1 && args.n == 1.0",
    "args.n >= 10 && args.n <= 10",
    "args.n > 5 && args.n < 10",
    '!(args.env == "a" && args.env == "b")',
  ]) {
    assert.deepEqual(warningsOf(rule(when)), [], when);
  }
});
