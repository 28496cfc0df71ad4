import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionLines } from "./definition-lines.ts";

test("[ours.request.tool-change] members and lines of texts are compared one by one", () => {
  const definition = '{"description":"One.\\nTwo \\\\n.","max":1.10}';
  assert.equal(
    definitionLines(definition),
    '{\n  "description": "One.\\n\nTwo \\\\n.",\n  "max": 1.10\n}',
  );
});
