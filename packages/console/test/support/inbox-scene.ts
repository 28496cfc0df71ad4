/**
 * The inbox over a server whose time passes, and calls that wait in it: for the tests of the
 * console's inbox.
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { findConsole } from "../../../server/src/review/pages/page-files.ts";
import { startBrowser, type Visitor } from "../../../server/test/support/browser.ts";
import { visit } from "../../../server/test/support/page-scene.ts";
import { NO_RATES } from "../../../server/test/support/scene.ts";
import {
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "../../../server/test/support/test-provider.ts";

export type VisitOptions = NonNullable<Parameters<typeof visit>[3]>;

export interface InboxScene {
  readonly server: TestProvider;
  readonly browser: Browser;
  readonly instance: { readonly id: string; readonly token: string };
  /** A token that decides beside the pages. */
  readonly reviewer: string;
  visitor(login: string, options?: VisitOptions): Promise<Visitor>;
}

/**
 * One server and one browser, for all tests of a file.
 *
 * @param parts a stopped clock, for a test of an exact time
 */
export async function startInboxScene(
  t: Lifetime,
  parts: Pick<TestProviderOptions, "clock"> = {},
): Promise<InboxScene> {
  assert.ok(findConsole() !== undefined, "the console is not built: npm run build");
  const server = await startTestProvider(t, { ...parts, settings: NO_RATES });
  const instance = await server.instance();
  const reviewer = await server.token({ kind: "reviewer" });
  const browser = await startBrowser(t);
  const visitor: InboxScene["visitor"] = (login, options) => visit(browser, server, login, options);
  return { server, browser, instance, reviewer, visitor };
}

/** The row of a tool. */
export function rowOf(page: Page, tool: string) {
  return page
    .locator(".row")
    .filter({ has: page.locator(".tool").getByText(tool, { exact: true }) });
}

/** The tools of all rows, in their order. */
export function toolsOf(page: Page): Promise<string[]> {
  return page.locator(".row .tool").allTextContents();
}

export async function untilLive(page: Page): Promise<void> {
  await page.locator(".connection").getByText("Live", { exact: true }).waitFor();
}

/** Waits until there are so many rows; asked from outside, since the page evaluates no text. */
export async function untilRows(page: Page, count: number): Promise<void> {
  if (count > 0)
    await page
      .locator(".row")
      .nth(count - 1)
      .waitFor();
  await page.locator(".row").nth(count).waitFor({ state: "detached" });
}
