/**
 * A real Chromium, as Debian packages it, for tests of pages.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { Lifetime } from "./test-provider.ts";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Starts a browser that ends with the tests of a file. */
export async function startBrowser(t: Lifetime): Promise<Browser> {
  assert.ok(
    existsSync(EXECUTABLE),
    `${EXECUTABLE} is missing: install the package chromium, or name another one in CHROMIUM`,
  );
  const browser = await chromium.launch({
    executablePath: EXECUTABLE,
    // Tests may run as root and in containers with little shared memory; only our pages are opened.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  t.after(() => browser.close());
  return browser;
}

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the console said, and what was asked of elsewhere: nothing is expected. */
  readonly complaints: string[];
}

export interface VisitorOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Pixels of the screen for each of the page: with half a window it is a zoom of 200 %. */
  readonly scale?: number;
}

/** Somebody with a browser of their own: no cookies, one page. */
export async function newVisitor(
  browser: Browser,
  url: string,
  { width = 1280, height = 800, colorScheme = "light", scale = 1 }: VisitorOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height },
    colorScheme,
    deviceScaleFactor: scale,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    // Chromium writes a refusal of the server there as well; what it says is on the page.
    const isRefusal = message.text().startsWith("Failed to load resource: the server responded");
    if (["error", "warning"].includes(message.type()) && !isRefusal)
      complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) complaints.push(`asked for ${request.url()}`);
  });
  return { context, page, complaints };
}
