/** The language of the page: its elements say it, and a new choice loads the page again. */

import type { Language } from "@countersign/review-api";
import { urlOf } from "../root.ts";
import { chosenLanguage, currentLanguage, language, STORED_LANGUAGE } from "./language.ts";

document.documentElement.lang = language;

/** For the notifications of the service worker, which cannot read `localStorage`. */
async function noteForWorker(): Promise<void> {
  const cache = await globalThis.caches?.open("language");
  await cache?.put(urlOf("language"), new Response(language));
}

noteForWorker().catch(console.info);

/**
 * Stores the user's choice, and loads the page again when it is in another language.
 *
 * @param chosen null: the browser's language
 */
export function applyLanguage(chosen: Language | null): void {
  if ((chosenLanguage() ?? null) === chosen) return;
  if (keepChoice(chosen) && currentLanguage() !== language) location.reload();
}

/** @returns whether the browser keeps the choice */
function keepChoice(chosen: Language | null): boolean {
  try {
    if (chosen === null) localStorage.removeItem(STORED_LANGUAGE);
    else localStorage.setItem(STORED_LANGUAGE, chosen);
    return true;
  } catch {
    return false;
  }
}
