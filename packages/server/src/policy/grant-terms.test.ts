import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonObject, parseJson } from "@countersign/protocol";
import { escapeGlob } from "@countersign/review-api/policy-text";
import fc from "fast-check";
import { findMatchingTerms, sessionOf, type Terms, termsFault, turnOf } from "./grant-terms.ts";
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

test("[ours.grant.turn] terms with a turn match only calls of this turn in this session", () => {
  const cases: readonly (readonly [Terms, string, boolean])[] = [
    [{ tool: "edit", session: "s", turn: "t" }, '{"session_id":"s","turn_id":"t"}', true],
    [{ tool: "edit", session: "s", turn: "t" }, '{"session_id":"s","prompt_id":"t"}', true],
    [{ tool: "edit", session: "s", turn: "t" }, '{"session_id":"s","turn_id":"u"}', false],
    [{ tool: "edit", session: "s", turn: "t" }, '{"session_id":"r","turn_id":"t"}', false],
    [{ tool: "edit", session: "s", turn: "t" }, '{"session_id":"s"}', false],
    [{ tool: "edit", session: "s", turn: "t" }, '{"turn_id":"t"}', false],
    [{ tool: "other", session: "s", turn: "t" }, '{"session_id":"s","turn_id":"t"}', false],
    [{ tool: "edit", turn: "t" }, '{"session_id":"s","turn_id":"t"}', false],
    [{ tool: "edit", turn: "t" }, '{"turn_id":"t"}', false],
  ];
  for (const [terms, context, fits] of cases) {
    assert.equal(termsFit(terms, call({ context: object(context) })), fits, context);
  }
  assert.equal(termsFit({ tool: "edit", session: "s", turn: "t" }, call()), false);
});

test("[ours.grant.turn] the turn of a call is turn_id, or prompt_id in a context without turn_id", () => {
  const turn = (context: string) => turnOf(call({ context: object(context) }));
  assert.equal(turn('{"turn_id":"t"}'), "t");
  assert.equal(turn('{"prompt_id":"p"}'), "p");
  assert.equal(turn('{"prompt_id":"p","turn_id":"t"}'), "t");
  for (const context of ['{"prompt_id":"p","turn_id":1}', '{"turn_id":""}', '{"turn_id":["t"]}']) {
    assert.equal(turn(context), undefined, context);
  }
  assert.equal(turnOf(call()), undefined);
});

test("[ours.grant.any-server] terms for any server match calls with every server and without one", () => {
  const all: Terms = { tool: "*", anyServer: true };
  for (const fields of [
    { tool: "edit" },
    { tool: "edit", server: "files" },
    { tool: "mcp__files__edit" },
    { tool: "mcp__a__b__c" },
  ]) {
    assert.equal(termsFit(all, call(fields)), true, JSON.stringify(fields));
  }
  const edit: Terms = { tool: "edit", anyServer: true };
  assert.equal(termsFit(edit, call({ tool: "edit", server: "files" })), true);
  assert.equal(termsFit(edit, call({ tool: "remove", server: "files" })), false);
  const joined: Terms = { tool: "mcp__files__*", anyServer: true, when: "args == args" };
  assert.equal(termsFit(joined, call({ tool: "edit", server: "files" })), true);
  assert.equal(termsFit(joined, call({ tool: "edit", server: "other" })), false);
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
