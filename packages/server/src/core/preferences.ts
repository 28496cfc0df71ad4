/** Preferences of a user, stored as JSON with a format version. */

import type { AfterDecision, Language, Notify, SavedView, Theme } from "@countersign/review-api";
import type { QuietHours } from "./quiet-hours.ts";

export interface Preferences {
  readonly theme: Theme;
  /** True when single keys are shortcuts in the console. */
  readonly keys: boolean;
  /** The page of the console after a decision. */
  readonly afterDecision: AfterDecision;
  /** Quiet hours of Web Push; null: none. */
  readonly quietHours: QuietHours | null;
  /** Zone of the times in the console; null: that of the browser. */
  readonly timeZone: string | null;
  /** Of the console; null: that of the browser. */
  readonly language: Language | null;
  /** Requests that the user is notified of. */
  readonly notify: Notify;
  /** Saved filters of the history. */
  readonly views: readonly SavedView[];
}

export const DEFAULT_PREFERENCES: Preferences = {
  theme: "system",
  keys: true,
  afterDecision: "next",
  quietHours: null,
  timeZone: null,
  language: null,
  notify: "all",
  views: [],
};

const VERSION = 1;

export function writePreferences(preferences: Preferences): string {
  return JSON.stringify({ version: VERSION, ...preferences });
}

/** Missing fields have their defaults. */
export function readPreferences(text: string | undefined): Preferences {
  if (text === undefined) return DEFAULT_PREFERENCES;
  const { version, ...stored } = JSON.parse(text) as Partial<Preferences> & {
    readonly version: number;
  };
  if (version !== VERSION) throw new Error(`stored preferences have the form ${version}`);
  return { ...DEFAULT_PREFERENCES, ...stored };
}
