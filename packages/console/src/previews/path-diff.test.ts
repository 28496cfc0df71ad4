import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { pathDiff } from "./path-diff.ts";

function diff(before: string, after: string): string[] {
  return pathDiff(parseJson(before), parseJson(after)).map(
    ({ path, before: was = "-", after: is = "-" }) => `${path}: ${was} > ${is}`,
  );
}

test("[ours.inbox.exact] calls are compared path by path, by what is written", () => {
  const before = '{"amount":1.0,"to":["a","b"],"n":9007199254740993,"same":{"x":[1]}}';
  const after = '{"n":9007199254740992,"amount":1.00,"to":["a"],"same":{"x": [ 1 ]},"a b":true}';
  assert.deepEqual(diff(before, after), [
    "n: 9007199254740993 > 9007199254740992",
    "amount: 1.0 > 1.00",
    'to[1]: "b" > -',
    '["a b"]: - > true',
  ]);
  assert.deepEqual(diff('{"__proto__":1}', '{"__proto__":{"a":1}}'), ['__proto__: 1 > {"a":1}']);
  assert.deepEqual(diff("[]", "{}"), [": [] > {}"]);
});

test("[ours.inbox.exact] a call does not differ from itself", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      assert.deepEqual(diff(json, json), []);
    }),
  );
});
