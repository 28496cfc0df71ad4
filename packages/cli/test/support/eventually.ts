import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const PAUSE_MS = 20;
const WAIT_MS_MAX = 30_000;

/**
 * Looks again and again until there is something to see; for states that nobody announces.
 *
 * @param look returns undefined as long as there is nothing
 * @param waitMs for what takes long by itself
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  waitMs = WAIT_MS_MAX,
): Promise<T> {
  const looksMax = waitMs / PAUSE_MS;
  for (let looks = 0; looks < looksMax; looks++) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(PAUSE_MS);
  }
  assert.fail(`never seen: ${what}`);
}
