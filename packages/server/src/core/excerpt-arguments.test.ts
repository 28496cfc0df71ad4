import assert from "node:assert/strict";
import { test } from "node:test";
import { excerptArguments } from "./excerpt-arguments.ts";

test("[ours.chat.buttons] arguments that fit are whole, and others are marked as truncated", () => {
  assert.deepEqual(excerptArguments("12345", 5), {
    label: "Arguments",
    shown: "12345",
    isWhole: true,
  });
  assert.deepEqual(excerptArguments("123456", 5), {
    label: "Arguments, only the first 5 of 6 characters",
    shown: "12345",
    isWhole: false,
  });
});

test("[ours.chat.buttons] bytes count in UTF-8, and no character is cut", () => {
  const { shown, isWhole } = excerptArguments("aéé", 4);
  assert.equal(shown, "aé");
  assert.equal(isWhole, false);
  assert.equal(excerptArguments("aéé", 5).isWhole, true);
});

test("[ours.chat.buttons] an invisible character is displayed as a code point, which counts whole", () => {
  const { shown, isWhole } = excerptArguments("a\u202Eb", 20);
  assert.equal(shown, "a\\u{202E}b");
  assert.equal(isWhole, true);
  assert.equal(excerptArguments("a\u202Eb", 8).shown, "a");
});
