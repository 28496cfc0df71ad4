/**
 * Formats a time for the wire.
 *
 * @param ms milliseconds since the epoch
 * @returns RFC 3339 in UTC with milliseconds and the suffix `Z`
 * @see contract: Resources, Scalar formats, Timestamp
 */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,30}))?Z$/;

/**
 * Parses a Timestamp of the contract. Rejects offsets and dates that do not exist.
 *
 * @returns milliseconds since the epoch, truncated; undefined for text that is not an RFC 3339
 *   date-time in UTC with the suffix `Z`
 * @throws never
 */
export function parseTimestamp(text: string): number | undefined {
  const [, seconds, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const spelled = `${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const ms = Date.parse(spelled);
  // JavaScript engines parse 30 February as 2 March (1 March in leap years).
  return Number.isNaN(ms) || formatTimestamp(ms) !== spelled ? undefined : ms;
}
