/**
 * Texts in the language of the reader. The English text in the code is the key of its translation
 * in `de.json`. The rule `translations` of `npm run tidy` reports texts without one.
 *
 * A module that imports this one is evaluated after the catalogue has been loaded, so constants may
 * contain translated texts. Another language needs a reload of the page.
 */

import type { Language } from "@countersign/review-api";
import { language, locale } from "./language.ts";
import { type Catalogue, type Forms, fill, formOf, keyOf, textOf } from "./translate.ts";

/** English texts are in the code. */
const CATALOGUES: Readonly<
  Record<Exclude<Language, "en">, () => Promise<{ readonly default: Catalogue }>>
> = {
  de: () => import("./de.json"),
};

async function loadCatalogue(): Promise<Catalogue> {
  if (language === "en") return {};
  try {
    return (await CATALOGUES[language]()).default;
  } catch {
    // Without its translations, the console is usable in English.
    return {};
  }
}

const catalogue = await loadCatalogue();

const numbers = new Intl.NumberFormat(locale);
const plurals = new Intl.PluralRules(locale);

/** Like `12,345`. */
export function formatNumber(value: number): string {
  return numbers.format(value);
}

type Value = string | number;

function toText(value: Value): string {
  return typeof value === "number" ? formatNumber(value) : value;
}

/** `` t`Deny ${tool}` ``. Numbers are formatted; a number that is a name must be a string. */
export function t(texts: TemplateStringsArray, ...values: readonly Value[]): string {
  return fill(textOf(catalogue, keyOf(texts)), values)
    .map(toText)
    .join("");
}

/** As `t`, for texts with elements: `` rich`Written by ${<Text>{name}</Text>}` ``. */
export function rich<Element>(
  texts: TemplateStringsArray,
  ...values: readonly (string | Element)[]
): (string | Element)[] {
  return fill(textOf(catalogue, keyOf(texts)), values);
}

/**
 * `plural(count, { one: "1 call", other: "# calls" })`. Both forms must be literals.
 *
 * @param values of the places `{0}`, `{1}` in the forms
 */
export function plural(count: number, forms: Forms, ...values: readonly Value[]): string {
  const form = formOf(catalogue, forms, plurals.select(count));
  return fill(form.replaceAll("#", formatNumber(count)), values)
    .map(toText)
    .join("");
}
