import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const PAUSE_MS = 20;
const WAIT_MS_MAX = 60_000;

/**
 * Polls until `read` returns a value, for states that send no event.
 *
 * @param read returns undefined until the value exists
 * @param waitMs a longer limit for slow operations
 */
export async function eventually<T>(
  what: string,
  read: () => Promise<T | undefined> | T | undefined,
  waitMs = WAIT_MS_MAX,
): Promise<T> {
  const attemptsMax = waitMs / PAUSE_MS;
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    const value = await read();
    if (value !== undefined) return value;
    await sleep(PAUSE_MS);
  }
  assert.fail(`did not happen in time: ${what}`);
}
