import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findConfusables } from "./confusables.ts";

function labels(text: string): string[] {
  return [...findConfusables(text)].map(([at, label]) => `${at} ${label}`);
}

test("[ours.inbox.exact] letters of another script in a word are labelled", () => {
  assert.deepEqual(labels("p\u0430yp\u0430l"), ["1 Cyrillic", "4 Cyrillic"]);
  assert.deepEqual(labels("\u043f\u0430\u0440\u043ela"), ["4 Latin", "5 Latin"]);
  assert.deepEqual(labels("\u03bfk"), ["0 Greek"]);
  // An invisible character does not split a word.
  assert.deepEqual(labels("\u0440\u200bay"), ["0 Cyrillic"]);
});

test("[ours.inbox.exact] a word of Latin-like letters is labelled if the text has no other letter of its script", () => {
  assert.deepEqual(labels("\u0441\u043e\u0441\u043e.com"), [
    "0 Cyrillic",
    "1 Cyrillic",
    "2 Cyrillic",
    "3 Cyrillic",
  ]);
  assert.deepEqual(labels("\u0441\u043e\u0440 \u0438 \u0434\u043e\u043c"), []);
});

test("[ours.inbox.exact] wide and mathematical forms, and confusable signs, are labelled", () => {
  assert.deepEqual(labels("\uff52m"), ["0 looks like r"]);
  assert.deepEqual(labels("\u{1d5ba}1"), ["0 looks like a"]);
  assert.deepEqual(labels("a\u2215b"), ["1 not /"]);
  assert.deepEqual(labels("a\u037eb"), ["1 not ;"]);
  assert.deepEqual(labels("evil\u01c3"), ["4 not !"]);
});

test("[ours.inbox.exact] texts of one script, and common mixtures, get no label", () => {
  const usual = [
    "plain text, 100 % of it",
    "Größe naïve łódź",
    "Привет, мир!",
    "Καλημέρα κόσμε",
    "iPhoneの設定をする",
    "東京タワー 2024年",
    "שלום עולם",
    "مرحبا",
    "สวัสดี",
    "😀👍🏽",
    "µm",
    "ǆ",
  ];
  for (const text of usual) assert.deepEqual(labels(text), [], text);
});

test("[ours.inbox.exact] every label is at a non-ASCII character or in a mixed word", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      for (const at of findConfusables(text).keys()) {
        assert.ok(at >= 0 && at < text.length);
        // Never in the middle of a pair.
        assert.doesNotMatch(text.charAt(at), /[\udc00-\udfff]/);
      }
    }),
  );
});
