import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaultInstanceName, readAnswer, writeAnswer } from "./instance.ts";

test("[ours.instance.name.readable] a default name is two words and four characters that cannot be misread", () => {
  const random = fc.uint8Array({ minLength: 8, maxLength: 8 });
  const property = fc.property(random, (bytes) => {
    assert.match(defaultInstanceName(bytes), /^[a-z]+-[a-z]+-[2-9a-km-np-z]{4}$/);
  });
  fc.assert(property);
});

test("[ours.instance.name.readable] both words and all four characters are drawn", () => {
  const none = new Uint8Array(8);
  assert.equal(defaultInstanceName(none), "able-avocet-2222");
  for (const i of [1, 3, 4, 5, 6, 7]) {
    const one = none.slice();
    one[i] = 1;
    assert.notEqual(defaultInstanceName(one), defaultInstanceName(none), `byte ${i}`);
  }
});

const ID = "0b8f6c1c-7a0e-4b9e-9d43-0f9a8f1f1c11";

const receivers = fc.option(
  fc.tuple(fc.string(), fc.string()).map(([url, registrationId]) => ({ url, registrationId })),
  { nil: null },
);

test("[delivery.provision.replay-no-verification] [delivery.update.replay-no-verification] a stored response is read unchanged, for any name and receiver", () => {
  const property = fc.property(fc.string({ unit: "binary" }), receivers, (text, receiver) => {
    const answered = { id: ID, name: JSON.stringify(text), receiver };
    assert.deepEqual(readAnswer(ID, writeAnswer(answered)), answered);
  });
  fc.assert(property);
  const tricky = { url: '{"name":"\\', registrationId: "}" };
  for (const text of ["{", '{"name":1}', "null", "\u2028", "__proto__"]) {
    for (const receiver of [null, tricky]) {
      const answered = { id: ID, name: JSON.stringify(text), receiver };
      assert.deepEqual(readAnswer(ID, writeAnswer(answered)), answered);
    }
  }
});

test("[ours.secret-key.upgrade] the stored response of an instance without a receiver has the old format, only its name", () => {
  assert.equal(writeAnswer({ id: ID, name: '"a name"', receiver: null }), '"a name"');
  const answered = { id: ID, name: '"a \\u007bname"', receiver: null };
  assert.deepEqual(readAnswer(ID, '"a \\u007bname"'), answered);
});

test("a stored answer that lacks something is not repaired", () => {
  const whole = { name: '"a"', url: "https://a.test/", registrationId: "r" };
  assert.equal(readAnswer(ID, JSON.stringify(whole)).name, '"a"');
  for (const lost of Object.keys(whole)) {
    const left = Object.entries(whole).filter(([key]) => key !== lost);
    for (const text of [JSON.stringify(Object.fromEntries(left)), "{}"]) {
      assert.throws(() => readAnswer(ID, text), /incomplete/, lost);
    }
  }
});

test("[ours.instance.name.readable] two bytes draw a word, so that all words are about as likely", () => {
  const first = (high: number, low: number) =>
    defaultInstanceName(Uint8Array.of(high, low, 0, 0, 0, 0, 0, 0)).split("-")[0];
  const words = new Set<string | undefined>();
  for (let low = 0; low < 256; low++) words.add(first(0, low));
  assert.equal(first(1, 0), first(0, 256 % words.size));
  assert.equal(first(2, 3), first(0, (2 * 256 + 3) % words.size));
  assert.equal(first(0, words.size), first(0, 0));
  for (const word of words) assert.match(word ?? "", /^[a-z]{4,7}$/);
  assert.ok(words.size > 50);
});
