import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memberSource } from "./source.ts";

test("[ours.passkey.browser] the exact source of a member is found", () => {
  const cases: [string, string][] = [
    ['{"arguments":{"a": 1.10 , "b":[1e400]},"x":1}', '{"a": 1.10 , "b":[1e400]}'],
    ['{ "x" : "\\"arguments\\":1" , "arguments" : -0 }', "-0"],
    ['{"x":{"arguments":1},"arguments":{"arguments":2}}', '{"arguments":2}'],
    ['{"\\u0061rguments":"}{\\\\"}', '"}{\\\\"'],
    ['{"a":[{"}":"]"}],"arguments":[[],{}]}', "[[],{}]"],
    ['{"arguments":true}', "true"],
    ['\n{"a":null\n,"arguments"\n:\n9007199254740993\n}', "9007199254740993"],
  ];
  for (const [json, source] of cases) assert.equal(memberSource(json, "arguments"), source, json);
  assert.equal(memberSource('{"a":1}', "arguments"), undefined);
  assert.equal(memberSource("{}", "arguments"), undefined);
});

test("[ours.passkey.browser] the correct member is found in any context", () => {
  const value = fc.json();
  fc.assert(
    fc.property(fc.string(), value, value, value, (key, before, wanted, after) => {
      const name = JSON.stringify(key);
      const rest = name.slice(1);
      const json = `{"-${rest}: ${before} ,${name}:${wanted}, "+${rest}:${after}}`;
      assert.equal(memberSource(json, key), wanted);
    }),
  );
});
