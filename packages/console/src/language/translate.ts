/** Texts of a catalogue with their values filled in. Pure: `t.ts` knows the reader's language. */

/** A text for each category of numbers of the language, by the names of `Intl.PluralRules`. */
export type Forms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & {
  readonly other: string;
};

/**
 * Translations by their English texts. `{0}` and `{1}` are places of values, in any order; `#` is
 * the number of a plural, whose key is the English form `other`.
 */
export type Catalogue = Readonly<Record<string, string | Forms>>;

/** The English text of a template: `Deny {0}` for `` t`Deny ${tool}` ``. */
export function keyOf(texts: readonly string[]): string {
  return texts.reduce((key, text, index) => `${key}{${index - 1}}${text}`);
}

/** The text of a key, or the key itself: untranslated text is English. */
export function textOf(catalogue: Catalogue, key: string): string {
  const text = catalogue[key] ?? key;
  return typeof text === "string" ? text : text.other;
}

/** The form of a text for a count. */
export function formOf(catalogue: Catalogue, english: Forms, category: Intl.LDMLPluralRule) {
  const forms = catalogue[english.other] ?? english;
  return typeof forms === "string" ? forms : (forms[category] ?? forms.other);
}

/** The parts of a text and the values between them. Braces in a value stay as they are. */
export function fill<Value>(text: string, values: readonly Value[]): (string | Value)[] {
  return text
    .split(/\{(\d)\}/)
    .map((part, index) => (index % 2 === 0 ? part : (values[Number(part)] as Value)))
    .filter((part) => part !== "");
}
