import assert from "node:assert/strict";
import { test } from "node:test";
import { domainToASCII } from "node:url";
import fc from "fast-check";
import { decodePunycode, isIdnLabel } from "./idn-label.ts";

test("the samples of RFC 3492, section 7.1, decode to their texts", () => {
  const samples = {
    egbpdaj6bu4bxfgehfvwxn: "ليهمابتكلموشعربي؟",
    ihqwcrb4cv8a8dqg056pqjye: "他们为什么不说中文",
    ihqwctvzc91f659drss3x8bo0yb: "他們爲什麽不說中文",
    "Proprostnemluvesky-uyb24dma41a": "Pročprostěnemluvíčesky",
    "4dbcagdahymbxekheh6e0a7fei0b": "למההםפשוטלאמדבריםעברית",
    i1baa7eci9glrd9b2ae1bj0hfcgg6iyaf8o0a1dig0cd: "यहलोगहिन्दीक्योंनहींबोलसकतेहैं",
    n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa: "なぜみんな日本語を話してくれないのか",
    b1abfaaepdrnnbgefbadotcwatmq2g4l: "почемужеонинеговорятпорусски",
    "PorqunopuedensimplementehablarenEspaol-fmd56a": "PorquénopuedensimplementehablarenEspañol",
    "TisaohkhngthchnitingVit-kjcr8268qyxafd2f1b9g": "TạisaohọkhôngthểchỉnóitiếngViệt",
    "3B-ww4c5e180e575a65lsy2b": "3年B組金八先生",
    "-with-SUPER-MONKEYS-pc58ag80a8qai00g7n9n": "安室奈美恵-with-SUPER-MONKEYS",
    "Hello-Another-Way--fc4qua05auwb3674vfr0b": "Hello-Another-Way-それぞれの場所",
    "2-u9tlzr9756bt3uc0v": "ひとつ屋根の下2",
    "MajiKoi5-783gue6qz075azm5e": "MajiでKoiする5秒前",
    "de-jg4avhby1noc0d": "パフィーdeルンバ",
    d9juau41awczczp: "そのスピードで",
    "-> $1.00 <--": "-> $1.00 <-",
  };
  for (const [encoded, text] of Object.entries(samples)) {
    assert.equal(decodePunycode(encoded), text, encoded);
  }
});

test("text that is not valid Punycode decodes to undefined", () => {
  const wrong = ["0", "99999", "99999999", "9999999999", "zzzzzzzzzzzz", "--0", "é", "a-é", "tD"];
  for (const encoded of [...wrong, "-tda", "z".repeat(59), "9".repeat(59), "ib9b"]) {
    assert.equal(decodePunycode(encoded), undefined, encoded);
  }
});

test("a label that the URL standard's own mapping writes is an IDN label", () => {
  // Letters of scripts that are written from left to right, which need no rules of context.
  const letter = fc
    .constantFrom("äöüßéčłñ", "абвгд", "αβγς", "한국어", "日本語中文", "テスト", "ไทย", "☃💩")
    .chain((script) => fc.constantFrom(...script));
  const property = fc.property(
    fc.array(fc.oneof(letter, fc.constantFrom(..."abc019")), { minLength: 1, maxLength: 12 }),
    (letters) => {
      const label = domainToASCII(letters.join(""));
      fc.pre(label.startsWith("xn--"));
      assert.equal(decodePunycode(label.slice(4)), letters.join(""));
      assert.ok(isIdnLabel(label), label);
    },
  );
  fc.assert(property);
});

test("a label with the prefix that is not an IDN label is recognised, with any letters", () => {
  const tail = fc.string({
    unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789-"),
    maxLength: 59,
  });
  const outcomes = new Set<boolean>();
  const property = fc.property(tail, (text) => {
    const valid = isIdnLabel(`xn--${text}`);
    outcomes.add(valid);
    const decoded = decodePunycode(text);
    if (!valid) return;
    assert.ok(decoded?.isWellFormed());
    assert.equal(decoded?.normalize("NFC"), decoded);
    assert.match(decoded ?? "", /[^\0-\x7f]/u);
  });
  fc.assert(property, { numRuns: 2_000 });
  assert.equal(outcomes.size, 2, "both outcomes were met");
});
