/**
 * Waiting for what a page shows, for as long as a busy machine needs.
 */

import type { Locator } from "playwright-core";

/** Until there are so many of them, and no more. */
export async function untilCount(found: Locator, count: number): Promise<void> {
  if (count > 0) await found.nth(count - 1).waitFor();
  await found.nth(count).waitFor({ state: "detached" });
}
