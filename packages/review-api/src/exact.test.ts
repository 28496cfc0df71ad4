import assert from "node:assert/strict";
import test from "node:test";
import { exactText, JsonText, parseExact, writeJson } from "./exact.ts";

test("an answer keeps the exact text of objects and lists in it", () => {
  const parsed = parseExact('{"arguments": {"amount":1.0,"n":9007199254740993}, "list":[ 1 ]}');
  const { arguments: args, list } = parsed as { arguments: object; list: object };
  assert.equal(exactText(args), '{"amount":1.0,"n":9007199254740993}');
  assert.equal(exactText(list), "[ 1 ]");
  assert.throws(() => exactText({}), /exact text of this object is not known/);
});

test("a member named __proto__ is a member and changes no prototype", () => {
  const parsed = parseExact('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>;
  assert.equal(parsed.isAdmin, undefined);
  assert.deepEqual(Object.keys(parsed), ["__proto__"]);
});

test("a text that is already written is sent unchanged, and undefined members are left out", () => {
  const value = { name: new JsonText('"\\ud83d"'), note: undefined, list: [null, "a"], n: 1 };
  assert.equal(writeJson(value), '{"name":"\\ud83d","list":[null,"a"],"n":1}');
});

test("a name that is not a plain word is escaped", () => {
  const value = { 'a"b': 1, "c\n": { ü: [], "": {} }, _d1: true };
  assert.equal(writeJson(value), '{"a\\"b":1,"c\\n":{"ü":[],"":{}},"_d1":true}');
});
