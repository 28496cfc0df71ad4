import assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "./completion-place.ts";

/** The place of the mark `|` in a text. */
function at(text: string): string {
  const { path, kind, prefix } = placeOf(text.slice(0, text.indexOf("|")));
  return `${path.join(".")} ${kind} ${prefix}`.trim();
}

const HEAD = "version: 1\nrules:\n  - id: a\n    match: { tool: x }\n    then: ask\n  - id: b\n";

test("the place in a policy is the path of its keys, also in brackets and block texts", () => {
  for (const [text, place] of [
    ["ver|", "key ver"],
    ["version: |", "version value"],
    ["rules:\n  - |", "rules key"],
    ["rules:\n- |", "rules key"],
    [`${HEAD}    ma|`, "rules key ma"],
    [`${HEAD}    then: a|`, "rules.then value a"],
    [`${HEAD}    match: { to|`, "rules.match key to"],
    [`${HEAD}    match: { tool: ema|`, "rules.match.tool value ema"],
    [`${HEAD}    match: { tool: [a, b|`, "rules.match.tool value b"],
    [`${HEAD}    match: { tool: a, instance: { group: s|`, "rules.match.instance.group value s"],
    [`${HEAD}    match: { instance: { group: s }, |`, "rules.match key"],
    [`${HEAD}    match:\n      tool: e|`, "rules.match.tool value e"],
    [`${HEAD}    match:\n      tool:\n        - e|`, "rules.match.tool key e"],
    [`${HEAD}    when: args.a|`, "rules.when value args.a"],
    [
      `${HEAD}    when: |-\n      true\n      && args.a|`.replace("|-", ">-"),
      "rules.when key && args.a",
    ],
    [`${HEAD}    # a comment\n    ask:\n      from: gr|`, "rules.ask.from value gr"],
    [`${HEAD}tests:\n  - given: { tool: x }\n    expect: { th|`, "tests.expect key th"],
    [
      `${HEAD}tests:\n  - given:\n      tool: x\n    expect:\n      because: b|`,
      "tests.expect.because value b",
    ],
  ] as const) {
    assert.equal(at(text), place, text);
  }
});
