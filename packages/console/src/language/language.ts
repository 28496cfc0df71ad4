/** The language of the console in this browser. */

import type { Language } from "@countersign/review-api";

/** The key of the choice in the storage of this browser. */
export const STORED_LANGUAGE = "countersign.language";

/** Its locale for dates and numbers. */
const LOCALES: Readonly<Record<Language, string>> = {
  en: "en-GB",
  de: "de-DE",
};

function isLanguage(text: string | null | undefined): text is Language {
  return text != null && Object.hasOwn(LOCALES, text);
}

/** Undefined when the user has chosen none in this browser. */
export function chosenLanguage(): Language | undefined {
  try {
    const stored = localStorage.getItem(STORED_LANGUAGE);
    return isLanguage(stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}

/** The first of the browser's languages that the console has. */
function languageOfBrowser(): Language {
  const languages = globalThis.navigator?.languages ?? [];
  return languages.map((name) => name.split("-")[0]).find(isLanguage) ?? "en";
}

/** Without a page, as in a unit test, English. */
export function currentLanguage(): Language {
  return "document" in globalThis ? (chosenLanguage() ?? languageOfBrowser()) : "en";
}

/** The language of this page. */
export const language = currentLanguage();

/** For `Intl`. */
export const locale = LOCALES[language];
