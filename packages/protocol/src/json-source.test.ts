import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Spelled, spelledJson } from "../test/support/spelled-json.ts";
import { JsonArray, JsonNumber, JsonObject, type JsonValue, parseJsonBytes } from "./json.ts";

/** Every number, array and object of a parsed value holds exactly the text it was read from. */
function assertSources(parsed: JsonValue | undefined, spelled: Spelled): void {
  switch (spelled.kind) {
    case "literal":
    case "string":
      assert.equal(parsed, JSON.parse(spelled.text));
      return;
    case "number":
      assert.ok(parsed instanceof JsonNumber);
      assert.equal(parsed.source, spelled.text);
      return;
    case "array":
      assert.ok(parsed instanceof JsonArray);
      assert.equal(parsed.source, spelled.text);
      assert.equal(parsed.items.length, spelled.items.length);
      for (const [i, item] of spelled.items.entries()) assertSources(parsed.items[i], item);
      return;
    case "object":
      assert.ok(parsed instanceof JsonObject);
      assert.equal(parsed.source, spelled.text);
      assert.deepEqual(
        [...parsed.members.keys()],
        spelled.members.map(([key]) => key),
      );
      for (const [key, value] of spelled.members) assertSources(parsed.members.get(key), value);
  }
}

test("[scalar.arguments.numbers] [scalar.arguments.spelling] [scalar.arguments.strings] [ours.json.key-order] arrays, objects and numbers keep their exact source, and keys their order", () => {
  fc.assert(
    fc.property(spelledJson, (spelled) => {
      assertSources(parseJsonBytes(Buffer.from(spelled.text)), spelled);
    }),
    { numRuns: 500 },
  );
});

test("[scalar.arguments.strings] white space around a value is not part of its source", () => {
  const parsed = parseJsonBytes(Buffer.from(' \n{ "a" : [ 1.0 , { } ] }\t'));
  assert.ok(parsed instanceof JsonObject);
  assert.equal(parsed.source, '{ "a" : [ 1.0 , { } ] }');
  const inner = parsed.members.get("a");
  assert.ok(inner instanceof JsonArray);
  assert.equal(inner.source, "[ 1.0 , { } ]");
  const [number, object] = inner.items;
  assert.ok(number instanceof JsonNumber && object instanceof JsonObject);
  assert.deepEqual([number.source, object.source], ["1.0", "{ }"]);
});
