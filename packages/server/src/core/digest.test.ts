import assert from "node:assert/strict";
import test from "node:test";
import { sha256Hex } from "./digest.ts";

test("the digest of a text is the SHA-256 of its UTF-8 bytes in lower-case hexadecimal", () => {
  // FIPS 180-2, appendix B.1.
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.equal(sha256Hex("abc"), abc);
  // printf 'é' | sha256sum
  const accented = "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c";
  assert.equal(sha256Hex("é"), accented);
});
