import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { indentJson } from "./indent.ts";

test("[ours.inbox.exact] indenting puts members on lines and keeps every token unchanged", () => {
  assert.equal(
    indentJson('{ "a":[1.10 ,1e400,{}],"b" :"{\\"x\\":[1, 2]}","c":[ ] }'),
    '{\n  "a": [\n    1.10,\n    1e400,\n    {}\n  ],\n  "b": "{\\"x\\":[1, 2]}",\n  "c": []\n}',
  );
  for (const plain of ["9007199254740993", "-0", '"a  b"', "null", "{}"]) {
    assert.equal(indentJson(plain), plain);
  }
});

test("[ours.inbox.exact] indented text has the same meaning, and indenting it again changes nothing", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const indented = indentJson(json);
      assert.deepEqual(JSON.parse(indented), JSON.parse(json));
      assert.equal(indentJson(indented), indented);
      const value = JSON.parse(json);
      assert.equal(indentJson(JSON.stringify(value)), JSON.stringify(value, null, 2));
    }),
  );
});
