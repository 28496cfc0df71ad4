import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonObject } from "@countersign/protocol";
import { loadPolicy } from "./load.ts";
import { coversMatch } from "./match-subset.ts";
import { namesMatching } from "./matching.ts";
import { Meter } from "./meter.ts";
import type { Call, Rule, Verb } from "./rule.ts";

const TOOLS = ["a", "b", "a*", "*", "?", "mcp__s__a", "mcp__s__*", "s/a", "s/*", "s__a", undefined];
const SERVERS = ["s", "t", "s*", "*", undefined];

function ruleOf(verb: Verb, tool: string | undefined, server: string | undefined): Rule {
  const tools = tool === undefined ? [] : [`tool: "${tool}"`];
  const servers = server === undefined ? [] : [`server: "${server}"`];
  const match = `{ ${[...tools, ...servers].join(", ")} }`;
  // The condition makes an approval of everything valid.
  const text = `{ id: r, match: ${match}, when: args.n == 1, then: ${verb} }`;
  const source = `version: 1\nrules: [${text}]`;
  const [rule] = loadPolicy(source, { kind: "project" }).rules;
  assert.ok(rule);
  return rule;
}

const CALLS: readonly Call[] = [
  "a",
  "b",
  "ab",
  "",
  "mcp__s__a",
  "mcp__s__t__a",
  "s/a",
  "t/b",
  "s__a",
  "mcp_s_a",
].flatMap((tool) =>
  [undefined, "s", "t", "s__t", ""].map((server) => ({
    tool,
    server,
    args: new JsonObject(new Map(), "{}"),
    context: undefined,
    instance: { id: "i", name: "n", groups: [] },
    now: 0,
  })),
);

const applies = (rule: Rule, call: Call) => namesMatching(rule, call, new Meter(10_000)).length > 0;

test("a match that covers another one applies to each of its calls, by all names of a tool", () => {
  let covered = 0;
  for (const verb of ["approve", "ask"] as const) {
    const inner = TOOLS.flatMap((tool) => SERVERS.map((server) => ruleOf(verb, tool, server)));
    const outer = TOOLS.flatMap((tool) => SERVERS.map((server) => ruleOf("deny", tool, server)));
    for (const rule of inner) {
      for (const other of outer) {
        if (!coversMatch(other.match, rule.match)) continue;
        covered++;
        for (const call of CALLS) {
          if (!applies(rule, call)) continue;
          const words = `${JSON.stringify(rule.match)} ${JSON.stringify(other.match)} ${call.tool}`;
          assert.ok(applies(other, call), words);
        }
      }
    }
  }
  assert.ok(covered > 200, `only ${covered} pairs`);
});
