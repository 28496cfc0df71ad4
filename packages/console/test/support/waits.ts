/**
 * Waiting for what a page shows, for as long as a busy machine needs and no longer.
 */

import type { Locator, Page } from "playwright-core";
import { PATIENCE_MS, until } from "../../../server/test/support/until.ts";

/** Until there are so many of them, and no more. */
export async function untilCount(found: Locator, count: number): Promise<void> {
  if (count > 0) await found.nth(count - 1).waitFor();
  await found.nth(count).waitFor({ state: "detached" });
}

/** Until no content is wider than the window: a page changes its panes after the window. */
export async function untilFits(page: Page, width: number): Promise<void> {
  const isFitting = async () =>
    (await page.evaluate("document.documentElement.scrollWidth")) === width;
  await until(isFitting, `the page is ${width} px wide`);
}

/**
 * Awaits an answer of a script in the browser or of its debugger, with a time limit. These wait
 * without end, and a test without a limit would block the whole run instead of failing.
 */
export async function answered<T>(answer: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer: ${what}`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearTimeout(timer);
  }
}
