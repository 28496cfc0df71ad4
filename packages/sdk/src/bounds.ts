/**
 * Reads the bounds that a program sets. A bound that is not a usable number would remove the bound:
 * `NaN` compares false with everything, and a timer with it fires at once.
 */

import { SdkError } from "./errors.ts";

/** The longest delay of a timer; a longer one fires at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * @param name of the option, for the error
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
