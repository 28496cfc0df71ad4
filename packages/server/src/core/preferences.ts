/** Preferences of a user, stored as JSON with a format version. */

import type { Theme } from "@countersign/review-api";
import type { QuietHours } from "./quiet-hours.ts";

export interface Preferences {
  readonly theme: Theme;
  /** True when single keys are shortcuts in the console. */
  readonly keys: boolean;
  /** Quiet hours of Web Push; null: none. */
  readonly quietHours: QuietHours | null;
}

export const DEFAULT_PREFERENCES: Preferences = { theme: "system", keys: true, quietHours: null };

const VERSION = 1;

export function writePreferences(preferences: Preferences): string {
  return JSON.stringify({ version: VERSION, ...preferences });
}

/** Missing fields have their defaults. */
export function readPreferences(text: string | undefined): Preferences {
  if (text === undefined) return DEFAULT_PREFERENCES;
  const { version, theme, keys, quietHours } = JSON.parse(text) as Preferences & {
    readonly version: number;
  };
  if (version !== VERSION) throw new Error(`stored preferences have the form ${version}`);
  return { theme, keys, quietHours };
}
