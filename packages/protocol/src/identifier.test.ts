import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseIdentifier, uuidV7 } from "./identifier.ts";

const NONE = new Uint8Array(10);
const ALL = new Uint8Array(10).fill(0xff);

test("[scalar.identifier.format] an assigned identifier is a UUID of version 7 and variant 10", () => {
  assert.equal(uuidV7(0, NONE), "00000000-0000-7000-8000-000000000000");
  assert.equal(uuidV7(0xffffffffffff, ALL), "ffffffff-ffff-7fff-bfff-ffffffffffff");
  // The example of RFC 9562, appendix A.6.
  const random = Uint8Array.of(0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f);
  assert.equal(uuidV7(0x017f22e279b0, random), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
});

test("[scalar.identifier.format] later identifiers sort later, for any random part", () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
  const property = fc.property(time, random, time, random, (a, aRandom, b, bRandom) => {
    const [one, other] = [uuidV7(a, aRandom), uuidV7(b, bRandom)];
    assert.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(parseIdentifier(one), one);
    assert.equal(Number.parseInt(one.replaceAll("-", "").slice(0, 12), 16), a);
    if (a !== b) assert.equal(one < other, a < b);
  });
  fc.assert(property);
});

test("[scalar.identifier.format] 74 random bits of the ten bytes are kept", () => {
  for (let bit = 0; bit < 80; bit++) {
    const random = new Uint8Array(10);
    random[bit >> 3] = 0x80 >> (bit & 7);
    const fixed = bit < 4 || bit === 16 || bit === 17;
    assert.equal(uuidV7(0, random) === uuidV7(0, NONE), fixed, `bit ${bit}`);
  }
});

test("an identifier is valid in upper and lower case, and other text is not", () => {
  const id = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  assert.equal(parseIdentifier(id), id);
  assert.equal(parseIdentifier(id.toUpperCase()), id);
  const wrong = ["", "x", id.slice(1), `${id}0`, ` ${id}`, `${id}\n`, id.replaceAll("-", "")];
  wrong.push(`{${id}}`, `urn:uuid:${id}`, id.replace("0", "g"), id.replace("-", "_"));
  for (const text of wrong) assert.equal(parseIdentifier(text), undefined, JSON.stringify(text));
});
