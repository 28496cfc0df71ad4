import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { excerpt, layOutJson, visibleText } from "./visible-text.ts";

const HOSTILE: Readonly<Record<string, readonly [text: string, shown: string]>> = {
  "a colour": ["\u001b[31mred", "\\u{001B}[31mred"],
  "a title": ["\u001b]0;title\u0007", "\\u{001B}]0;title\\u{0007}"],
  "an eight-bit control sequence": ["\u009b2J", "\\u{009B}2J"],
  "a return to the line's beginning": ["safe\rrm -rf", "safe\\u{000D}rm -rf"],
  "a backspace": ["a\b", "a\\u{0008}"],
  "a line break": ["one\ntwo", "one\\u{000A}two"],
  "a line separator": ["one\u2028two", "one\\u{2028}two"],
  "a tab": ["a\tb", "a\\u{0009}b"],
  "a right-to-left override": ["\u202etxt.exe", "\\u{202E}txt.exe"],
  "an isolate": ["\u2066hidden\u2069", "\\u{2066}hidden\\u{2069}"],
  "a zero-width space": ["pay\u200bpal", "pay\\u{200B}pal"],
  "a byte order mark": ["\ufeffa", "\\u{FEFF}a"],
  "a soft hyphen": ["pay\u00adpal", "pay\\u{00AD}pal"],
  "a formatting mark": ["\u06001", "\\u{0600}1"],
  "a tag character": ["a\u{e0041}", "a\\u{E0041}"],
  "a variation selector": ["a\ufe0f", "a\\u{FE0F}"],
  "a blank Hangul filler": ["a\u3164", "a\\u{3164}"],
  "a blank Braille cell": ["a\u2800", "a\\u{2800}"],
  "a no-break space": ["a\u00a0b", "a\\u{00A0}b"],
  "a private glyph": ["\ue000", "\\u{E000}"],
};

for (const [what, [text, shown]] of Object.entries(HOSTILE)) {
  test(`[ours.cli.untrusted-text] ${what} is shown as its code point`, () => {
    assert.equal(visibleText(text), shown);
  });
}

test("[ours.cli.untrusted-text] readable text of any script is shown unchanged", () => {
  const text = "rm -rf ~/*; naïve, 東京, Ελλάδα, עברית, العربية, 🚀";
  assert.equal(visibleText(text), text);
});

test("[ours.cli.untrusted-text] no control character of any text reaches the terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.doesNotMatch(visibleText(text), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test("[ours.cli.untrusted-text] an excerpt is truncated to its width with a mark, between characters", () => {
  assert.equal(excerpt("short", 5), "short");
  assert.equal(excerpt("longer than that", 9), "longer...");
  assert.equal(excerpt("\u001b\u001b", 20), "\\u{001B}\\u{001B}");
  assert.equal(excerpt("🚀🚀🚀🚀🚀", 4), "🚀...");
});

test("[ours.cli.untrusted-text] laid out JSON keeps the spelling of every token", () => {
  const source =
    '{"n":9007199254740993,"e":1E2,"z":-0,"s":"a,\\"{b}\\u0000:","l":[],"o":{},"d":[1,{"k":[2]}]}';
  assert.equal(
    layOutJson(source),
    [
      "{",
      '  "n": 9007199254740993,',
      '  "e": 1E2,',
      '  "z": -0,',
      '  "s": "a,\\"{b}\\u0000:",',
      '  "l": [],',
      '  "o": {},',
      '  "d": [',
      "    1,",
      "    {",
      '      "k": [',
      "        2",
      "      ]",
      "    }",
      "  ]",
      "}",
    ].join("\n"),
  );
});

test("[ours.cli.untrusted-text] the layout adds only white space between tokens", () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: "grapheme-ascii" }), (source) => {
      const compact = JSON.stringify(JSON.parse(source));
      const joined = layOutJson(compact).replace(/\n */g, "");
      assert.deepEqual(JSON.parse(joined), JSON.parse(compact));
    }),
  );
});

test("[ours.cli.untrusted-text] the layout shows control characters that JSON allows unescaped as code points", () => {
  const source = '{"k\u202e":"v\u009b2J\u007f"}';
  assert.equal(layOutJson(source), '{\n  "k\\u{202E}": "v\\u{009B}2J\\u{007F}"\n}');
});
