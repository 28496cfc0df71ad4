/**
 * Validates numeric limits. An unusable number would remove the limit: `NaN` compares false with
 * everything, and a timer with it fires immediately.
 */

import { SdkError } from "./errors.ts";

/** The longest delay of a timer, ms. A longer one fires immediately. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * @param name name of the option in the error message
 * @param value undefined for the default
 * @throws SdkError `invalid_option`
 */
export function readBound(name: string, value: unknown, defaultValue: number): number {
  if (value === undefined) return defaultValue;
  if (typeof value === "number" && value > 0 && value <= TIMER_MS_MAX) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : String(value);
  const expected = `Expected a number above 0 and up to ${TIMER_MS_MAX}.`;
  throw new SdkError("invalid_option", `Invalid ${name}: ${shown}. ${expected}`);
}
