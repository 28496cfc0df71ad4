/**
 * Policy documents as people write them, nearly right: for the target `policy`.
 */

import fc from "fast-check";

/** Most of what a text is made of fits, or hardly anything would be read to its end. */
function mostly<T>(fitting: readonly T[], ...others: readonly unknown[]): fc.Arbitrary<unknown> {
  const fits = fc.constantFrom<unknown>(...fitting);
  return fc.oneof(
    { weight: 40, arbitrary: fits },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

const ids = mostly(["a", "b", "c", "d", "reads", "no-drops", "z9"], "A", "a b", "", "no-match");
const names = mostly(
  ["*", "deploy", "d*", "p*", "**", "db.drop"],
  "[ab]",
  "{a,b}",
  "!x",
  "",
  7,
  null,
);
const patterns = fc.oneof(names, fc.array(names, { minLength: 1, maxLength: 3 }));
const durations = mostly(["1s", "2m", "24h", "30s"], "0s", "1d", "-1s", "999999999999999h", 5);
const counts = mostly([1, 2, 3], 0, -1, 1.5, 1e21, "2");
const people = mostly(["group:dba", "reviewer:ann", "group:ops"], "anyone", "group:", "x");

const instance = fc.record({ group: patterns, id: patterns, name: patterns }, { requiredKeys: [] });
const match = fc.record({ tool: patterns, server: patterns, instance }, { requiredKeys: ["tool"] });

const ask = fc.record(
  {
    from: fc.array(people, { minLength: 1, maxLength: 3 }),
    quorum: counts,
    exclude: mostly([["owner"]], ["x"], []),
    confirm: mostly(["passkey", "click", "match", "type(tool)"], true),
    note: mostly(["required", "optional"], "x", true),
    within: durations,
    grants: fc.boolean(),
    bots: fc.boolean(),
  },
  { requiredKeys: [] },
);

const given = fc.record(
  { tool: names, args: fc.dictionary(fc.constantFrom("n", "s"), fc.jsonValue({ maxDepth: 2 })) },
  { requiredKeys: ["tool"] },
);

/** By the verb, for which "then" is the key: what some rules may say others must not. */
const [APPROVE, DENY, ASK, ODD] = ["approve", "deny", "ask", "allow"].map((verb) => ["then", verb]);

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

function objectOf(fields: Fields, [key = "", verb]: readonly string[] = []): fc.Arbitrary<object> {
  const requiredKeys = ["id", "match", "given"].filter((name) => name in fields);
  return fc.record(fields, { requiredKeys }).map((made) => ({ ...made, [key]: verb }));
}

/** @param conditions expressions of `when` */
export function policiesOf(conditions: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const note = fc.string({ minLength: 1, maxLength: 20 });
  const common = { id: ids, match, when: conditions, note };
  const rule = fc.oneof(
    { weight: 8, arbitrary: objectOf({ ...common, valid_for: durations }, APPROVE) },
    { weight: 8, arbitrary: objectOf(common, DENY) },
    { weight: 8, arbitrary: objectOf({ ...common, valid_for: durations, ask }, ASK) },
    { weight: 1, arbitrary: objectOf({ ...common, valid_for: durations, ask }, ODD) },
  );
  const because = mostly(["no-match"], "a", "error");
  const expect = fc.oneof(objectOf({ because }, ASK), objectOf({}, DENY), objectOf({}, APPROVE));
  const document = fc.record(
    {
      version: mostly([1], 2, "1", 1.5),
      two_person: mostly([true, false], "yes"),
      rules: fc.uniqueArray(rule, {
        maxLength: 4,
        selector: (made) => (made as { id?: unknown }).id,
      }),
      tests: fc.array(fc.record({ given, expect }), { maxLength: 2 }),
    },
    { requiredKeys: ["version", "rules"] },
  );
  return fc.tuple(document, fc.constantFrom(0, 2)).map(([policy, indent]) =>
    // JSON is YAML: in one line, and over many.
    JSON.stringify(policy, null, indent),
  );
}
