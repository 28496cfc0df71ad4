import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { evaluatePolicies } from "./evaluate.ts";
import { callOf, policyOf } from "./policy-fixture.ts";
import type { Evaluation, Verb } from "./rule.ts";

const CONDITIONS = [
  "true || args.x == 1",
  "args.n < 5",
  "args.n >= 5",
  "args.missing == 1",
  "args.s < 1",
  "has(args.n)",
  "args.b",
  "args.l.exists(x, x > 1)",
  "args.big > 1",
  "size(args.s) > 1",
];
const MATCHES = ['{ tool: "*" }', "{ tool: pay }", "{ tool: [db, p*] }", "{ tool: db }"];
const ASKS = [
  "{}",
  "{ quorum: 2 }",
  "{ from: [group:dba] }",
  "{ from: [group:ops, reviewer:ana] }",
  "{ confirm: passkey }",
  "{ confirm: type(args.s) }",
  "{ note: required, within: 5m }",
  "{ grants: false, exclude: owner, within: 1m }",
];

interface RuleText {
  readonly verb: Verb;
  readonly text: string;
}

const rules: fc.Arbitrary<RuleText> = fc
  .record({
    verb: fc.constantFrom<Verb>("approve", "approve", "ask", "deny"),
    match: fc.constantFrom(...MATCHES),
    when: fc.option(fc.constantFrom(...CONDITIONS)),
    ask: fc.constantFrom(...ASKS),
    note: fc.option(fc.constantFrom("one", "two")),
    minutes: fc.option(fc.integer({ min: 1, max: 9 })),
  })
  .map(({ verb, match, when, ask, note, minutes }) => {
    const parts = [`match: ${match}`, `then: ${verb}`];
    if (when !== null) parts.push(`when: "${when}"`);
    if (note !== null) parts.push(`note: ${note}`);
    if (verb === "ask") parts.push(`ask: ${ask}`);
    if (verb !== "deny" && minutes !== null) parts.push(`valid_for: ${minutes}m`);
    return { verb, text: parts.join(", ") };
  });

const numbers = fc.constantFrom("1", "5", "1e400", '"x"', "null", "9007199254740993", "0.1");
const calls = fc
  .record({
    tool: fc.constantFrom("pay", "db", "other"),
    n: fc.option(numbers),
    big: fc.option(numbers),
    rest: fc.constantFrom('"s":"text","b":true', '"s":5,"b":1', '"l":[1,2],"s":""', '"l":["a"]'),
  })
  .map(({ tool, n, big, rest }) => {
    const members = [
      rest,
      ...(n === null ? [] : [`"n":${n}`]),
      ...(big === null ? [] : [`"big":${big}`]),
    ];
    return callOf({ tool, args: `{${members.join(",")}}` });
  });

function withIds(texts: readonly RuleText[], from = 0): string[] {
  return texts.map(({ text }, index) => `id: r${from + index}, ${text}`);
}

function evaluate(
  texts: readonly string[],
  call: Parameters<typeof evaluatePolicies>[1],
): Evaluation {
  return evaluatePolicies({ project: policyOf(texts) }, call);
}

const STRENGTH: Readonly<Record<Verb, number>> = { approve: 0, ask: 1, deny: 2 };
const CONFIRMS = ["click", "type", "match", "passkey"];

test("[ours.policy.order] the order of rules never changes the outcome", () => {
  const shuffled = fc.array(rules, { maxLength: 8 }).chain((all) => {
    const texts = withIds(all);
    return fc.tuple(fc.constant(texts), fc.shuffledSubarray(texts, { minLength: texts.length }));
  });
  const property = fc.property(shuffled, calls, ([texts, other], call) => {
    assert.deepEqual(evaluate(other, call), evaluate(texts, call));
  });
  fc.assert(property, { numRuns: 500 });
});

test("[ours.policy.stricter] adding a deny or ask rule never makes an outcome weaker", () => {
  const harder = rules.filter(({ verb }) => verb !== "approve");
  const property = fc.property(
    fc.array(rules, { maxLength: 6 }),
    harder,
    calls,
    (all, added, call) => {
      const texts = withIds(all);
      const before = evaluate(texts, call);
      const after = evaluate([...texts, ...withIds([added], texts.length)], call);
      assert.ok(STRENGTH[after.verb] >= STRENGTH[before.verb]);
      if (before.verb !== "ask" || after.verb !== "ask") return;
      assertStricter(before, after);
    },
  );
  fc.assert(property, { numRuns: 500 });
});

function assertStricter({ requirement: before }: Evaluation, after: Evaluation): void {
  const { requirement } = after;
  assert.ok(requirement.quorum >= before.quorum);
  assert.ok((requirement.withinMs ?? Infinity) <= (before.withinMs ?? Infinity));
  assert.ok(CONFIRMS.indexOf(requirement.confirm.kind) >= CONFIRMS.indexOf(before.confirm.kind));
  assert.ok(requirement.excludeOwner || !before.excludeOwner);
  assert.ok(requirement.noteRequired || !before.noteRequired);
  assert.ok(!requirement.grants || before.grants);
  for (const set of before.from) {
    assert.ok(requirement.from.some((other) => other.join() === set.join()));
  }
}

test("[ours.policy.floor] a rule of a baseline policy is as strong as one of the project", () => {
  const harder = fc.array(
    rules.filter(({ verb }) => verb !== "approve"),
    { maxLength: 4 },
  );
  const property = fc.property(
    fc.array(rules, { maxLength: 4 }),
    harder,
    calls,
    (own, above, call) => {
      const project = policyOf(withIds(own));
      const floor = policyOf(withIds(above, 100), "floor");
      const apart = evaluatePolicies({ project, floor }, call);
      const together = evaluate([...withIds(own), ...withIds(above, 100)], call);
      assert.equal(apart.verb, together.verb);
      assert.deepEqual(
        { ...apart.requirement, confirm: apart.requirement.confirm.kind },
        { ...together.requirement, confirm: together.requirement.confirm.kind },
      );
    },
  );
  fc.assert(property, { numRuns: 300 });
});
