/**
 * Text search with a bound. The engine's `indexOf` is fast for most texts, but its worst case is
 * text times pattern, in native code that no time limit can stop.
 */

/** Up to this product, the worst case of `indexOf` takes well under a millisecond. */
const NATIVE_PRODUCT_MAX = 100_000;

/** As `text.indexOf(wanted, from)`, in time linear in both. */
export function indexWithin(text: string, wanted: string, from: number): number {
  if (wanted.length <= 1 || (text.length - from) * wanted.length <= NATIVE_PRODUCT_MAX) {
    return text.indexOf(wanted, from);
  }
  if (wanted.length > text.length - from) return -1;
  return knuthMorrisPratt(text, wanted, from);
}

/** @see Knuth, Morris, Pratt: Fast pattern matching in strings, 1977 */
function knuthMorrisPratt(text: string, wanted: string, from: number): number {
  const fallback = new Int32Array(wanted.length);
  for (let at = 1, length = 0; at < wanted.length; at++) {
    while (length > 0 && wanted.charCodeAt(at) !== wanted.charCodeAt(length)) {
      length = fallback[length - 1] ?? 0;
    }
    if (wanted.charCodeAt(at) === wanted.charCodeAt(length)) length++;
    fallback[at] = length;
  }
  for (let at = from, length = 0; at < text.length; at++) {
    while (length > 0 && text.charCodeAt(at) !== wanted.charCodeAt(length)) {
      length = fallback[length - 1] ?? 0;
    }
    if (text.charCodeAt(at) === wanted.charCodeAt(length)) length++;
    if (length === wanted.length) return at - length + 1;
  }
  return -1;
}
