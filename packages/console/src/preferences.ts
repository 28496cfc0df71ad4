/**
 * Preferences of a user. The server stores them for all devices. This browser keeps a copy, so that
 * a page has the right theme before the server answers.
 */

import type { Preferences } from "@countersign/review-api";
import { computed, effect, signal } from "@preact/signals";
import { api } from "./api.ts";
import { applyLanguage } from "./language/page-language.ts";
import { timeZone } from "./parts/time-words.ts";

const COPY = "countersign.preferences";
const DEFAULTS: Preferences = {
  theme: "system",
  keys: true,
  after_decision: "next",
  quiet_hours: null,
  time_zone: null,
  language: null,
  notify: "all",
  views: [],
};

export const preferences = signal<Preferences>({ ...DEFAULTS, ...copied() });

/** Whether single keys act. */
export const keysOn = computed(() => preferences.value.keys);

function copied(): Partial<Preferences> {
  try {
    return JSON.parse(localStorage.getItem(COPY) ?? "{}");
  } catch {
    return {};
  }
}

effect(() => {
  const { theme } = preferences.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});

effect(() => {
  timeZone.value = preferences.value.time_zone ?? undefined;
});

function take(chosen: Preferences): void {
  preferences.value = { ...DEFAULTS, ...chosen };
  try {
    // Views are texts of the user, and another user may be next in this browser.
    const { views, ...copy } = preferences.value;
    localStorage.setItem(COPY, JSON.stringify(copy));
  } catch {
    // A browser that keeps nothing asks the server each time.
  }
}

/**
 * Changes the saved views. It starts from those of the server: another tab may have changed them.
 *
 * @throws Refusal
 */
export async function changeViews(
  change: (views: Preferences["views"]) => Preferences["views"],
): Promise<void> {
  await loadPreferences();
  const views = change(preferences.peek().views);
  take(await api.call("PATCH /account/preferences", { body: { views } }));
}

/** @throws Refusal */
export async function loadPreferences(): Promise<void> {
  take(await api.call("GET /account/preferences"));
}

/**
 * Absent fields stay unchanged. The change applies at once and is undone when the server rejects
 * it.
 *
 * @throws Refusal
 */
export async function changePreferences(change: Partial<Preferences>): Promise<void> {
  const before = preferences.value;
  preferences.value = { ...before, ...change };
  try {
    take(await api.call("PATCH /account/preferences", { body: change }));
    applyLanguage(preferences.peek().language);
  } catch (error) {
    preferences.value = before;
    throw error;
  }
}
