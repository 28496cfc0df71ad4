/**
 * What a person prefers, and how it is stored: JSON with the version of its form.
 */

import type { Theme } from "@countersign/review-api";
import type { QuietHours } from "./quiet-hours.ts";

export interface Preferences {
  readonly theme: Theme;
  /** Whether single keys act in the console. */
  readonly keys: boolean;
  /** When Web Push is quiet; null: never. */
  readonly quietHours: QuietHours | null;
}

export const DEFAULT_PREFERENCES: Preferences = { theme: "system", keys: true, quietHours: null };

const VERSION = 1;

export function writePreferences(preferences: Preferences): string {
  return JSON.stringify({ version: VERSION, ...preferences });
}

/** What was never said is as it is without it. */
export function readPreferences(text: string | undefined): Preferences {
  if (text === undefined) return DEFAULT_PREFERENCES;
  const { version, theme, keys, quietHours } = JSON.parse(text) as Preferences & {
    readonly version: number;
  };
  if (version !== VERSION) throw new Error(`stored preferences have the form ${version}`);
  return { theme, keys, quietHours };
}
