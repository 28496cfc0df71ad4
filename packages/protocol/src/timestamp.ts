/**
 * @param ms milliseconds since the epoch
 * @returns RFC 3339 in UTC with milliseconds, ending in `Z`
 * @see contract: Resources, Scalar formats, Timestamp
 */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}
