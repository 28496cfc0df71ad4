import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaultInstanceName } from "./instance.ts";

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
