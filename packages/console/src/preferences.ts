/**
 * What a person has chosen for the console. The server keeps it for all their devices; this browser
 * keeps a copy, so that a page looks right before the server has answered.
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
 * What is not given stays. It holds at once, and no longer when the server refuses it.
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
