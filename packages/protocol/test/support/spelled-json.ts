/**
 * Arbitrary JSON texts in every spelling of the grammar: numbers with unusual exponents, strings
 * with unnecessary escapes, white space at any position. Each text has a list of its parts, so that
 * a test can compare them with the slices of a parser.
 */

import fc from "fast-check";

export type Spelled =
  | { readonly kind: "literal" | "number" | "string"; readonly text: string }
  | { readonly kind: "array"; readonly text: string; readonly items: readonly Spelled[] }
  | {
      readonly kind: "object";
      readonly text: string;
      readonly members: readonly (readonly [string, Spelled])[];
    };

/** A string and one of its spellings, without the quotes. */
const spelledString: fc.Arbitrary<{ readonly decoded: string; readonly text: string }> = fc
  .array(fc.tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 1 }), fc.nat(2)), {
    maxLength: 8,
  })
  .map((characters) => ({
    decoded: characters.map(([character]) => character).join(""),
    text: characters.map(([character, style]) => spellCharacter(character, style)).join(""),
  }));

/** @param style 0 as short as JSON allows, 1 and 2 escaped in lower and upper case */
function spellCharacter(character: string, style: number): string {
  if (style === 0) return JSON.stringify(character).slice(1, -1);
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  const hex = units.map((unit) => unit.toString(16).padStart(4, "0"));
  return hex.map((digits) => `\\u${style === 1 ? digits : digits.toUpperCase()}`).join("");
}

const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 6 });

/** A number token: sign, whole, fraction, exponent. */
export const numberToken: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("", "-"),
    digits.map((text) => text.replace(/^0+(?=\d)/, "")),
    fc.option(digits, { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom("e", "E", "e+", "E+", "e-", "E-"), digits), {
      nil: undefined,
    }),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const point = fraction === undefined ? "" : `.${fraction}`;
    return sign + whole + point + (exponent?.join("") ?? "");
  });

const space = fc.constantFrom("", "", " ", "\n", "\t", "\r\n  ");

export const spelledJson: fc.Arbitrary<Spelled> = fc.letrec<{ value: Spelled }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom("null", "true", "false").map((text) => ({ kind: "literal" as const, text })),
    numberToken.map((text) => ({ kind: "number" as const, text })),
    spelledString.map(({ text }) => ({ kind: "string" as const, text: `"${text}"` })),
    fc.tuple(space, fc.array(fc.tuple(tie("value"), space), { maxLength: 4 })).map(array),
    fc
      .tuple(
        space,
        fc.uniqueArray(fc.tuple(spelledString, tie("value"), space), {
          maxLength: 4,
          selector: ([key]) => key.decoded,
        }),
      )
      .map(object),
  ),
})).value;

function array([lead, items]: [string, [Spelled, string][]]): Spelled {
  const text = items.map(([item, after]) => `${lead}${item.text}${after}`).join();
  return { kind: "array", text: `[${text || lead}]`, items: items.map(([item]) => item) };
}

function object([lead, members]: [
  string,
  [{ decoded: string; text: string }, Spelled, string][],
]): Spelled {
  const texts = members.map(([key, value, after]) => {
    return `${lead}"${key.text}"${after}:${lead}${value.text}${after}`;
  });
  return {
    kind: "object",
    text: `{${texts.join() || lead}}`,
    members: members.map(([key, value]) => [key.decoded, value] as const),
  };
}
