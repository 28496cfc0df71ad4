/** @see contract: Resources, Scalar formats, Duration */

const DURATION = /^([1-9][0-9]*)([smh])$/;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration such as `10m`.
 *
 * @returns milliseconds, exact up to 2^53; `Infinity` above the range of a double, because a number
 *   of a thousand digits is long but valid; undefined for text that is not a duration
 */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const [, amount = "", unit = ""] = match;
  return Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
}

/** The shortest spelling of whole seconds, for configuration and messages: 90000 is `90s`. */
export function formatDuration(ms: number): string {
  for (const unit of ["h", "m"]) {
    const size = UNIT_MS[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms / 1000}s`;
}
