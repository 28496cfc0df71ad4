/**
 * Finds repetitions among recent ids.
 */

/** An older id counts as new again. */
const IDS_MAX = 1_000;

/** @returns true if the id is not among the latest 1,000; adds it */
export function isFirst(seen: Set<string>, id: string): boolean {
  if (seen.has(id)) return false;
  seen.add(id);
  for (const oldest of seen) {
    if (seen.size <= IDS_MAX) break;
    seen.delete(oldest);
  }
  return true;
}
