/**
 * Preferences of a user. The server stores them for all devices. This browser keeps a copy, so that
 * a page has the right theme before the server answers.
 */

import type { Preferences } from "@countersign/review-api";
import { computed, effect, signal } from "@preact/signals";
import { api } from "./api.ts";

const COPY = "countersign.preferences";
const DEFAULTS: Preferences = { theme: "system", keys: true, quiet_hours: null };

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

function take(chosen: Preferences): void {
  preferences.value = { ...DEFAULTS, ...chosen };
  try {
    localStorage.setItem(COPY, JSON.stringify(preferences.value));
  } catch {
    // A browser that keeps nothing asks the server each time.
  }
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
  } catch (error) {
    preferences.value = before;
    throw error;
  }
}
