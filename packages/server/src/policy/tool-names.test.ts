/** One table: the spellings of a call, and the rules and grants that match it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatePolicies, historyQueriesOf } from "./evaluate.ts";
import { findMatchingTerms, type Terms } from "./grant-terms.ts";
import { callOf, policyOf } from "./policy-fixture.ts";
import type { Call, Verb } from "./rule.ts";
import { sameToolNames, type ToolName } from "./tool-names.ts";

/** The tool create_issue of the server github, as agents submit it. */
const SPELLINGS: Readonly<Record<string, ToolName>> = {
  "adapters and aap, with the extension": { server: "github", tool: "create_issue" },
  "adapters, without the extension": { tool: "mcp__github__create_issue" },
  "Claude Code, Codex, Hermes before 0.7": { tool: "mcp__github__create_issue" },
  "the MCP gateway before 0.7": { tool: "github/create_issue" },
  "OpenClaw's own name": { tool: "github__create_issue" },
  "Gemini CLI's own name": { tool: "mcp_github_create_issue" },
};

const CURRENT = Object.keys(SPELLINGS).slice(0, 3);

/** Each `match` that means the tool, with the spellings that it approves. All are restricted. */
const MATCHES: Readonly<Record<string, readonly string[]>> = {
  "tool: create_issue, server: github": CURRENT,
  'tool: "create_*", server: "git*"': CURRENT,
  "tool: mcp__github__create_issue": CURRENT,
  'tool: "mcp__github__*"': CURRENT,
  'tool: "mcp__*__create_*"': CURRENT,
  "tool: [github/create_issue, Bash]": [...CURRENT, "the MCP gateway before 0.7"],
  'tool: "github/*"': [...CURRENT, "the MCP gateway before 0.7"],
};

function call({ tool, server }: ToolName): Call {
  return { ...callOf({ tool }), server };
}

function verbFor(name: ToolName, ...rules: readonly string[]): Verb {
  return evaluatePolicies({ project: policyOf(rules) }, call(name)).verb;
}

for (const [match, approved] of Object.entries(MATCHES)) {
  test(`[ours.extensions.server.names] match { ${match} } means one tool, however it is submitted`, () => {
    for (const [who, name] of Object.entries(SPELLINGS)) {
      const isApproved = verbFor(name, `id: a, match: { ${match} }, then: approve`) === "approve";
      assert.equal(isApproved, approved.includes(who), `approve: ${who}`);
      assert.equal(verbFor(name, `id: d, match: { ${match} }, then: deny`), "deny", who);
      const asks = { project: policyOf([`id: q, match: { ${match} }, then: ask`]) };
      assert.equal(evaluatePolicies(asks, call(name)).because, "q", who);
    }
  });
}

test("[ours.extensions.server.names] a rule without a server denies the tool of every server, and approves none", () => {
  for (const [who, name] of Object.entries(SPELLINGS)) {
    assert.equal(verbFor(name, "id: d, match: { tool: create_issue }, then: deny"), "deny", who);
    assert.equal(verbFor(name, "id: a, match: { tool: create_issue }, then: approve"), "ask", who);
  }
});

test("[ours.extensions.server.names] a joined name that can be split in two ways is denied, and approved only as submitted", () => {
  const split = { server: "a", tool: "b__c" };
  const other = { server: "a__b", tool: "c" };
  const joined = { tool: "mcp__a__b__c" };
  for (const match of ["tool: mcp__a__b__c", 'tool: "mcp__a__*"', 'tool: "mcp__*"']) {
    const verbs = [split, other, joined].map((name) =>
      verbFor(name, `id: a, match: { ${match} }, then: approve`),
    );
    assert.deepEqual(verbs, ["ask", "ask", "approve"], match);
    for (const name of [split, other, joined]) {
      assert.equal(verbFor(name, `id: d, match: { ${match} }, then: deny`), "deny", match);
    }
  }
  for (const [server, tool] of [
    ["a", "b__c"],
    ["a__b", "c"],
  ]) {
    const match = `match: { server: ${server}, tool: ${tool} }`;
    assert.equal(verbFor(joined, `id: a, ${match}, then: approve`), "ask");
    assert.equal(verbFor(joined, `id: d, ${match}, then: deny`), "deny");
  }
  for (const name of [
    { server: "a_", tool: "b" },
    { server: "a", tool: "_b" },
    { server: "", tool: "a__b" },
  ]) {
    assert.equal(verbFor(name, 'id: a, match: { tool: "mcp__*" }, then: approve'), "ask");
  }
  assert.equal(
    verbFor({ server: "x/y", tool: "z" }, 'id: a, match: { tool: "x/*" }, then: approve'),
    "ask",
  );
});

test("[ours.extensions.server.names] an approve rule for any name does not match a tool of a server", () => {
  const split = { server: "github", tool: "read_file" };
  for (const match of [
    'tool: "*"',
    'tool: "*read*"',
    'tool: "*/read_file"',
    'tool: "?cp__*"',
    'tool: "read_*"',
    'tool: "github__*"',
    'tool: "mcp_github_*"',
    "instance: { group: bots }",
  ]) {
    const project = policyOf([`id: a, match: { ${match} }, then: approve`]);
    const { verb } = evaluatePolicies({ project }, { ...callOf({ groups: ["bots"] }), ...split });
    assert.equal(verb, "ask", match);
  }
});

test("[ours.extensions.server.names] a condition reads the name by which its rule matches, so no exception is lost", () => {
  const rules = {
    "mcp__github__*": 'tool != "mcp__github__merge"',
    "github/*": 'tool != "github/merge"',
  };
  for (const [pattern, when] of Object.entries(rules)) {
    const rule = `id: a, match: { tool: "${pattern}" }, when: '${when}', then: approve`;
    assert.equal(verbFor({ server: "github", tool: "merge" }, rule), "ask", pattern);
    assert.equal(verbFor({ server: "github", tool: "read" }, rule), "approve", pattern);
  }
  const both = `id: a, match: { tool: ["mcp__github__*", "github/*"] }`;
  const except = `${both}, when: '!(tool == "mcp__github__merge")', then: approve`;
  assert.equal(verbFor({ server: "github", tool: "merge" }, except), "ask");
  assert.equal(verbFor({ server: "github", tool: "read" }, except), "approve");
  const own = 'id: a, match: { server: github, tool: "*e*" }, then: approve';
  const split = `${own}, when: '!(tool == "merge")'`;
  assert.equal(verbFor({ tool: "mcp__github__merge" }, split), "ask");
  assert.equal(verbFor({ tool: "mcp__github__read" }, split), "approve");
});

test("[ours.extensions.server.names] a condition that denies by a joined name denies the tool of the server", () => {
  const deny = (when: string) => `id: d, when: '${when}', then: deny`;
  const merge = { server: "github", tool: "merge" };
  for (const when of [
    'tool == "mcp__github__merge"',
    'glob(tool, "mcp__*__merge")',
    'tool in ["github/merge"]',
    'tool == "merge"',
  ]) {
    assert.equal(verbFor(merge, deny(when)), "deny", when);
    assert.equal(verbFor({ server: "github", tool: "read" }, deny(when)), "ask", when);
  }
  const approve = 'id: a, match: { tool: "mcp__github__*" }, then: approve';
  assert.equal(verbFor(merge, approve), "approve");
  assert.equal(verbFor(merge, approve, deny('tool.endsWith("hub__merge")')), "deny");
  assert.equal(verbFor(merge, deny('!(tool in ["merge"])')), "ask");
  assert.equal(verbFor({ tool: "mcp__github__merge" }, deny('!tool.startsWith("mcp__")')), "ask");
});

test("[ours.extensions.server.names] a grant covers a tool by both of its names", () => {
  const covers = (terms: Terms, name: ToolName) =>
    findMatchingTerms([terms], call(name)).has(terms);
  for (const [who, name] of Object.entries(SPELLINGS)) {
    const isCurrent = CURRENT.includes(who);
    assert.equal(covers({ tool: "mcp__github__*" }, name), isCurrent, who);
    assert.equal(covers({ tool: "create_*", server: "github" }, name), isCurrent, who);
    assert.equal(covers({ tool: "create_*", server: "gitlab" }, name), false, who);
    assert.equal(covers({ tool: "create_*" }, name), false, who);
  }
  const terms = { tool: "mcp__github__*", when: 'tool != "mcp__github__merge"' };
  assert.equal(covers(terms, { server: "github", tool: "merge" }), false);
  assert.equal(covers(terms, { server: "github", tool: "read" }), true);
});

test("[ours.extensions.server.names] calls are counted for a rule that matches by another name", () => {
  const rule = `id: a, match: { tool: mcp__github__create_issue }, when: 'history.calls("1h") < 5'`;
  const project = policyOf([`${rule}, then: approve`]);
  const counts = (name: ToolName) => historyQueriesOf({ project }, name).length;
  assert.equal(counts({ server: "github", tool: "create_issue" }), 1);
  assert.equal(counts({ server: "gitlab", tool: "create_issue" }), 0);
});

test("[ours.extensions.server.names] the joined name and the two names of a tool are the same tool, if no other split exists", () => {
  const split = { server: "github", tool: "create_issue" };
  const joined = { tool: "mcp__github__create_issue", server: undefined };
  assert.deepEqual(sameToolNames(split), [split, joined]);
  assert.deepEqual(sameToolNames(joined), [joined, split]);
  for (const name of [
    { tool: "read", server: undefined },
    { tool: "github/read", server: undefined },
    { tool: "mcp__a__b__c", server: undefined },
    { tool: "b__c", server: "a" },
    { tool: "c", server: "a_" },
  ]) {
    assert.deepEqual(sameToolNames(name), [name]);
  }
});

test("[ours.extensions.server.names] a name with thousands of separators neither approves nor blocks the server", () => {
  const rules = [
    "id: a, match: { tool: x, server: y }, then: approve",
    'id: d, match: { tool: "q?z*", server: "a*" }, then: deny',
  ];
  for (const name of ["a/".repeat(200_000), `mcp__${"a__".repeat(100_000)}`, "_".repeat(500_000)]) {
    assert.notEqual(verbFor({ tool: name }, ...rules), "approve");
  }
});
