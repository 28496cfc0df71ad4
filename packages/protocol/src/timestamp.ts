/**
 * @param ms milliseconds since the epoch
 * @returns RFC 3339 in UTC with milliseconds, ending in `Z`
 * @see contract: Resources, Scalar formats, Timestamp
 */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,30}))?Z$/;

/**
 * Reads a Timestamp of the contract and nothing else: no offset, no day that a calendar lacks.
 *
 * @returns milliseconds since the epoch, what is finer being cut off; undefined when the text is
 *   no RFC 3339 date-time in UTC that ends in `Z`
 * @throws never
 */
export function parseTimestamp(text: string): number | undefined {
  const [, seconds, fraction = ""] = TIMESTAMP.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const spelled = `${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const ms = Date.parse(spelled);
  // Engines take the thirtieth of February for the second of March.
  return Number.isNaN(ms) || formatTimestamp(ms) !== spelled ? undefined : ms;
}
