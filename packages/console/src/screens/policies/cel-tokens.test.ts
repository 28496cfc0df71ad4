import assert from "node:assert/strict";
import { test } from "node:test";
import { celTokens } from "./cel-tokens.ts";

test("a condition has tokens for texts, literals, functions and variables", () => {
  const source = 'size(args.tool) > 3 && tool == "a(\\"b" && x.args == true && \'open';
  const found = celTokens(source).map(({ kind, from, to }) => `${kind} ${source.slice(from, to)}`);
  assert.deepEqual(found, [
    "function size",
    "name args",
    "literal 3",
    "name tool",
    'text "a(\\"b"',
    "literal true",
    "text 'open",
  ]);
});
