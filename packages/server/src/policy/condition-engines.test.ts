import assert from "node:assert/strict";
import { test } from "node:test";
import { type CelInput, isCelError, run } from "@bufbuild/cel";
import fc from "fast-check";
import { ConditionError, compileCondition } from "./condition.ts";
import { Fault } from "./fault.ts";
import { Meter } from "./meter.ts";
import { objectOf } from "./policy-fixture.ts";
import { fromJson } from "./values.ts";

/** Arguments that both engines define alike; the corpus lists the differences. */
const ARGS = '{"i":3,"z":0,"d":2.5,"s":"ab","t":true,"f":false,"l":[1,2,"ab"],"m":{"a":1,"b":2.5}}';
const BOUND: Record<string, CelInput> = {
  args: new Map<string, CelInput>([
    ["i", 3n],
    ["z", 0n],
    ["d", 2.5],
    ["s", "ab"],
    ["t", true],
    ["f", false],
    ["l", [1n, 2n, "ab"]],
    [
      "m",
      new Map<string, CelInput>([
        ["a", 1n],
        ["b", 2.5],
      ]),
    ],
  ]),
};

const leaves = fc.constantFrom(
  "args.i",
  "args.z",
  "args.d",
  "args.s",
  "args.t",
  "args.f",
  "args.l",
  "args.m",
  "args.x",
  "args.m.a",
  "args.m.c",
  "args.l[0]",
  "args.l[5]",
  'args.m["b"]',
  "dyn(1)",
  "dyn(2.5)",
  'dyn("ab")',
  "dyn(true)",
  "dyn([1])",
  "dyn({})",
  "size(args.l)",
  "size(args.s)",
);

const { condition: conditions } = fc.letrec<{ value: string; condition: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    fc
      .tuple(tie("value"), fc.constantFrom("+", "-", "*", "/", "%"), tie("value"))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    fc.tuple(tie("condition"), tie("value"), tie("value")).map(([c, yes, no]) => {
      return `(${c} ? dyn(${yes}) : dyn(${no}))`;
    }),
  ),
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc
      .tuple(tie("value"), fc.constantFrom("==", "!=", "<", "<=", ">", ">=", "in"), tie("value"))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    fc
      .tuple(tie("condition"), fc.constantFrom("&&", "||"), tie("condition"))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    tie("condition").map((inner) => `!${inner}`),
    fc
      .tuple(fc.constantFrom("all", "exists", "exists_one"), fc.constantFrom("==", "<", ">="))
      .map(([macro, operator]) => `args.l.${macro}(x, x ${operator} args.i)`),
    fc.constantFrom("has(args.i)", "has(args.x)", "has(args.m.a)", "has(args.m.c)"),
  ),
}));

/** undefined: refused at load, so that there is nothing to compare. */
function ours(source: string): string | undefined {
  try {
    const none = new Map();
    const answer = compileCondition(source).evaluate({
      tool: "t",
      args: fromJson(objectOf(ARGS)),
      context: none,
      instance: none,
      now: null,
      history: undefined,
      signals: () => [],
      meter: new Meter(100_000),
      local: null,
    });
    return answer instanceof Fault ? "error" : String(answer);
  } catch (error) {
    assert.ok(error instanceof ConditionError, String(error));
    return undefined;
  }
}

function second(source: string): string {
  const answer = run(source, BOUND);
  return isCelError(answer) ? "error" : String(answer);
}

test("[ours.policy.condition.corpus] conditions made at random give the same in both engines", () => {
  let compared = 0;
  const property = fc.property(conditions, (source) => {
    const answer = ours(source);
    if (answer === undefined) return;
    compared++;
    assert.equal(answer, second(source), source);
  });
  fc.assert(property, { numRuns: 1_000 });
  assert.ok(compared > 300, `${compared} compared`);
});
