/** How a guide's text blocks belong to its commands. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { statedOutput } from "./support/play-guide.ts";

function block(language: string, text: string) {
  return { language, text, file: "" };
}

test("all text blocks after a command are its output, in order", () => {
  const blocks = [
    block("sh", "first\n"),
    block("text", "1\n2\n"),
    block("yaml", "a: 1\n"),
    block("text", "3\n"),
    block("sh", "second\n"),
    block("sh", "third\n"),
    block("text", "4\n"),
  ];
  assert.deepEqual(statedOutput(blocks), [["1", "2", "3"], [], ["4"]]);
});

test("a text block that follows no command, or the start of the server, is an error", () => {
  assert.throws(() => statedOutput([block("text", "1\n")]), /does not follow a command:\n1/);
  const afterStart = [block("sh", "ls\n"), block("sh", "npm start\n"), block("text", "1\n")];
  assert.throws(() => statedOutput(afterStart), /does not follow a command:\n1/);
});
