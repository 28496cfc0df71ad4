import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CONDITION_CHARS_MAX, ConditionError, compileCondition, compileText } from "./condition.ts";

function faultsOf(source: string): ConditionError["faults"] {
  try {
    compileCondition(source);
  } catch (error) {
    assert.ok(error instanceof ConditionError, String(error));
    return error.faults;
  }
  return [];
}

test("[ours.policy.condition.checked] every forbidden call is reported with its location", () => {
  const source = 'args.s.matches("a") || eval(args.x) || cel.bind(x, 1, true)';
  const faults = faultsOf(source);
  assert.deepEqual(
    faults.map(({ at }) => at),
    [0, source.indexOf("eval"), source.indexOf("cel")],
  );
  assert.match(faults[0]?.message ?? "", /use glob\(text/);
});

test("[ours.policy.condition.checked] an impossible type is reported at load", () => {
  assert.match(faultsOf("tool < 5")[0]?.message ?? "", /string < int/);
  assert.match(faultsOf("size(args)")[0]?.message ?? "", /true or false/);
  assert.match(faultsOf('instance.nme == "x"')[0]?.message ?? "", /only id, name, groups/);
  assert.throws(() => compileText("args.n + 1"), /must return a string/);
  assert.doesNotThrow(() => compileText("args.repo"));
});

test("[ours.policy.reasoning] agent_reasoning is not available to conditions", () => {
  assert.match(faultsOf('agent_reasoning == "x"')[0]?.message ?? "", /is not available/);
});

test("[ours.policy.condition.checked] size, nodes and depth are bounded", () => {
  const long = `args.x == "${"x".repeat(CONDITION_CHARS_MAX)}"`;
  const wide = Array.from({ length: 200 }, (_, i) => `args.a == ${i}`).join(" || ");
  const deep = [
    `${"(".repeat(60)}true${")".repeat(60)}`,
    `${"[".repeat(60)}${"]".repeat(60)} == []`,
  ];
  const chains = [
    `${"!".repeat(4_000)}true`,
    `${"-".repeat(4_000)}1 == 1`,
    `args${".a".repeat(900)}`,
  ];
  const open = ["(".repeat(4_096), "[".repeat(4_096), "{".repeat(4_096), "a(".repeat(2_000)];
  const choices = ["true?".repeat(800), `${"true?true:".repeat(300)}true`];
  for (const source of [long, wide, ...deep, ...chains, ...open, ...choices]) {
    assert.equal(faultsOf(source).length, 1, source.slice(0, 40));
  }
});

test("[ours.policy.condition.checked] no text makes the reader throw anything else", () => {
  const words = ["args", ".x", '"a"', "1", "1.5", "(", ")", "[", "]", "{", "}", "&&", "||", "!"];
  const more = ["==", "<", "+", "-", "?", ":", ",", "has", ".exists(", "x", "r'", "0x", "e9", "\\"];
  const texts = fc.oneof(
    fc.array(fc.constantFrom(...words, ...more), { maxLength: 20 }).map((all) => all.join(" ")),
    fc.string({ unit: "binary", maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, (source) => {
      faultsOf(source);
    }),
    { numRuns: 2_000 },
  );
});
