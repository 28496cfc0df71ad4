/**
 * Distinguishes a label of an internationalised name from one with the same prefix.
 *
 * @see RFC 5890 section 2.3.2.1 (A-label); RFC 3492 (Punycode)
 */

/**
 * Characters that the UTS 46 mapping replaces or removes, such as capitals and soft hyphens. The
 * four exceptions are its deviation characters: IDNA 2003 maps them, current IDNA does not.
 */
const MAPPED = /(?![\u00df\u03c2\u200c\u200d])\p{Changes_When_NFKC_Casefolded}/u;

/** Spaces, controls, unassigned and private characters, and the ideographic full stop. */
const NEVER = /[\p{Z}\p{Cc}\p{Co}\p{Cn}\u3002]/u;

/** @see RFC 5891 section 4.2.3 */
const WRONG_EDGE = /^[-\p{M}]|-$/u;

/**
 * Accepts a label only if the mapping does not change its decoded form, so that two spellings never
 * name one host. Registries enforce the contextual rules (joiners, direction).
 *
 * @param label in lower case, including `xn--`
 */
export function isIdnLabel(label: string): boolean {
  const text = decodePunycode(label.slice("xn--".length));
  // Without a non-ASCII character, the label would be a second spelling of a plain label.
  if (text === undefined || isAscii(text)) return false;
  if (text.normalize("NFC") !== text || WRONG_EDGE.test(text)) return false;
  return !MAPPED.test(text) && !NEVER.test(text);
}

const BASE = 36;
const CODE_POINT_MAX = 0x10ffff;

/**
 * @param encoded at most the characters of one label, without `xn--`
 * @returns undefined for text that is not valid Punycode
 * @see RFC 3492 section 6.2
 */
export function decodePunycode(encoded: string): string | undefined {
  const delimiter = encoded.lastIndexOf("-");
  const decoded = Array.from(encoded.slice(0, Math.max(delimiter, 0)));
  // A delimiter at the start is not a delimiter but an invalid digit.
  let at = delimiter > 0 ? delimiter + 1 : 0;
  let codePoint = 0x80;
  let index = 0;
  let bias = 72;
  while (at < encoded.length) {
    const before = index;
    let weight = 1;
    for (let k = BASE; ; k += BASE) {
      const digit = digitOf(encoded.charCodeAt(at++));
      if (digit === undefined) return undefined;
      index += digit * weight;
      // Far above the highest index of any label, and still exact.
      if (index > 2 ** 40) return undefined;
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = decoded.length + 1;
    bias = adapt(index - before, length, before === 0);
    codePoint += Math.floor(index / length);
    if (codePoint > CODE_POINT_MAX || isSurrogate(codePoint)) return undefined;
    index %= length;
    decoded.splice(index++, 0, String.fromCodePoint(codePoint));
  }
  return decoded.join("");
}

/** @see RFC 3492 section 6.1 */
function adapt(delta: number, length: number, first: boolean): number {
  let rest = Math.floor(delta / (first ? 700 : 2));
  rest += Math.floor(rest / length);
  let k = 0;
  for (; rest > 455; k += BASE) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}

/** `a` to `z` are 0 to 25, `0` to `9` are 26 to 35. NaN, at the end, is not a digit. */
function digitOf(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return undefined;
}

function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}

function isAscii(text: string): boolean {
  return Array.from(text).every((character) => character < "\u0080");
}
