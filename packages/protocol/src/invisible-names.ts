/** Display names of invisible characters. Pure. */

const NAMES: ReadonlyMap<string, string> = new Map([
  ["\t", "tab"],
  ["\r", "carriage return"],
  ["\u0000", "null"],
  ["\u0008", "backspace"],
  ["\u001b", "escape"],
  ["\u007f", "delete"],
  ["\u0085", "next line"],
  ["\u00a0", "no-break space"],
  ["\u00ad", "soft hyphen"],
  ["\u061c", "Arabic letter mark"],
  ["\u180e", "Mongolian vowel separator"],
  ["\u200b", "zero-width space"],
  ["\u200c", "zero-width non-joiner"],
  ["\u200d", "zero-width joiner"],
  ["\u200e", "left-to-right mark"],
  ["\u200f", "right-to-left mark"],
  ["\u2028", "line separator"],
  ["\u2029", "paragraph separator"],
  ["\u202a", "left-to-right embedding"],
  ["\u202b", "right-to-left embedding"],
  ["\u202c", "end of direction"],
  ["\u202d", "left-to-right override"],
  ["\u202e", "right-to-left override"],
  ["\u2060", "word joiner"],
  ["\u2066", "left-to-right isolate"],
  ["\u2067", "right-to-left isolate"],
  ["\u2068", "first strong isolate"],
  ["\u2069", "end of isolate"],
  ["\u2800", "blank Braille"],
  ["\u3000", "wide space"],
  ["\u3164", "Hangul filler"],
  ["\ufeff", "byte order mark"],
]);

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/[\u{e0000}-\u{e007f}]/u, "tag character"],
  [/\p{Variation_Selector}/u, "variation selector"],
  [/\p{Cc}/u, "control character"],
  [/\p{Zs}/u, "unusual space"],
  [/\p{Co}/u, "private character"],
  [/\p{Cs}/u, "half a character"],
  [/\p{Cn}/u, "unassigned character"],
];

/** @param letter one that cannot be seen */
export function nameOfInvisible(letter: string): string {
  return (
    NAMES.get(letter) ?? KINDS.find(([kind]) => kind.test(letter))?.[1] ?? "invisible character"
  );
}
