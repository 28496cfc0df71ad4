/**
 * Durations in options, as text with a unit. The compiler rejects a number without a unit.
 */

import { parseDuration } from "@countersign/protocol";
import { TIMER_MS_MAX } from "./bounds.ts";
import { SdkError } from "./errors.ts";

/**
 * The time that reviewers have to decide: a whole number of seconds, minutes or hours, such as
 * `10m`.
 *
 * @see contract: Resources, Scalar formats, Duration
 */
export type DecisionWindow = `${number}${"s" | "m" | "h"}`;

/** A time limit of the SDK: a whole number with a unit, such as `500ms` or `30s`. */
export type Duration = DecisionWindow | `${number}ms`;

/**
 * @param name name of the option in the error message
 * @param value undefined for the default
 * @returns milliseconds
 * @throws SdkError `invalid_option` for another type, a fraction, zero, and more than 24 days
 */
export function readDuration(name: string, value: unknown, defaultMs: number): number {
  if (value === undefined) return defaultMs;
  const ms = typeof value === "string" ? millisecondsOf(value) : undefined;
  if (ms !== undefined && ms > 0 && ms <= TIMER_MS_MAX) return ms;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : String(value);
  const expected =
    "Expected a whole number with ms, s, m or h, such as 30s, above 0 and at most 24 days.";
  throw new SdkError("invalid_option", `Invalid ${name}: ${shown}. ${expected}`);
}

/** @throws SdkError `invalid_option` */
export function readDecisionWindow(
  name: string,
  value: unknown,
  defaultWindow: string,
): DecisionWindow {
  const text = value ?? defaultWindow;
  if (typeof text === "string" && parseDuration(text) !== undefined) return text as DecisionWindow;
  const shown = typeof text === "string" ? JSON.stringify(text.slice(0, 40)) : String(text);
  const expected = "Expected a whole number with s, m or h, such as 10m.";
  throw new SdkError("invalid_option", `Invalid ${name}: ${shown}. ${expected}`);
}

function millisecondsOf(text: string): number | undefined {
  const match = /^([1-9]\d*)ms$/.exec(text);
  return match === null ? parseDuration(text) : Number(match[1]);
}
