import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonObject, parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { escapeGlob, findMatchingTerms, sessionOf, type Terms, termsFault } from "./grant-terms.ts";
import type { Call } from "./rule.ts";

function object(text: string): JsonObject {
  const value = parseJson(text);
  assert.ok(value instanceof JsonObject);
  return value;
}

function termsFit(terms: Terms, call: Call): boolean {
  return findMatchingTerms([terms], call).has(terms);
}

function call(fields: Partial<Call> = {}): Call {
  const instance = { id: "i", name: "n", groups: ["g"] };
  return { tool: "edit", args: object("{}"), context: undefined, instance, now: 0, ...fields };
}

test("terms fit when tool, session and condition all do", () => {
  const cases: readonly (readonly [Terms, Partial<Call>, boolean])[] = [
    [{ tool: "edit" }, {}, true],
    [{ tool: "ed*" }, {}, true],
    [{ tool: "Edit" }, {}, false],
    [{ tool: "edit", session: "s" }, {}, false],
    [{ tool: "edit", session: "s" }, { context: object('{"session_id":"s"}') }, true],
    [{ tool: "edit", session: "1" }, { context: object('{"session_id":1}') }, false],
    [{ tool: "edit", when: "args.n < 5" }, { args: object('{"n":4}') }, true],
    [{ tool: "edit", when: "args.n < 5" }, { args: object('{"n":5}') }, false],
    [{ tool: "edit", when: "args.n < 5" }, {}, false],
    [{ tool: "edit", when: "args.n" }, { args: object('{"n":"x"}') }, false],
    [{ tool: "edit", when: '"g" in instance.groups' }, {}, true],
  ];
  for (const [terms, fields, fits] of cases) {
    assert.equal(termsFit(terms, call(fields)), fits, JSON.stringify(terms));
  }
});

test("[ours.policy.exact-numbers] terms apply to calls with numbers of any size", () => {
  const args = object('{"n":0.1234567890123456789}');
  assert.equal(termsFit({ tool: "edit" }, call({ args })), true);
  assert.equal(termsFit({ tool: "edit", when: "args.n < 1.0" }, call({ args })), true);
});

test("[ours.policy.inexact] a condition that calculates with a long number fits nothing", () => {
  const args = object('{"n":0.1234567890123456789}');
  assert.equal(termsFit({ tool: "edit", when: "args.n + 1.0 < 5.0" }, call({ args })), false);
});

test("terms that cannot be read fit nothing", () => {
  for (const terms of [{ tool: "\\" }, { tool: "*", when: "(" }, { tool: "*", when: "1" }]) {
    assert.equal(termsFit(terms, call()), false);
    assert.notEqual(termsFault(terms), undefined);
  }
});

test("an escaped name is a glob of that name alone", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "*", "?", "\\", "é", "😀"), maxLength: 20 });
  fc.assert(
    fc.property(text, text, (name, other) => {
      const tool = escapeGlob(name);
      assert.equal(termsFault({ tool }), undefined);
      assert.equal(termsFit({ tool }, call({ tool: other })), name === other);
      assert.equal(termsFit({ tool }, call({ tool: name })), true);
    }),
  );
});

test("a session is a text of the context", () => {
  assert.equal(sessionOf(call({ context: object('{"session_id":"s"}') })), "s");
  for (const text of ["{}", '{"session_id":null}', '{"session_id":["s"]}', '{"session_id":1}']) {
    assert.equal(sessionOf(call({ context: object(text) })), undefined);
  }
});

test("[ours.policy.bounded] many terms together end at the limit of one evaluation, and then fit nothing", () => {
  const list = `[${Array.from({ length: 20_000 }, (_, i) => i).join(",")}]`;
  const slow = Array.from({ length: 400 }, (_, i) => {
    return { tool: "edit", when: `args.l.all(x, !(${i - 500} in args.l)) && false` };
  });
  const last = { tool: "edit", when: "true" };
  const args = object(`{"l":${list}}`);
  assert.deepEqual([...findMatchingTerms([last, ...slow], call({ args }))], [last]);
  assert.deepEqual([...findMatchingTerms([...slow, last], call({ args }))], []);
});
