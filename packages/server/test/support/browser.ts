/** A real Chromium for tests of pages: tools/test-run/browser.ts finds it. */

import assert from "node:assert/strict";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { type BrowserNeeds, findBrowser } from "../../../../tools/test-run/browser.ts";
import type { Lifetime } from "./test-provider.ts";
import { PATIENCE_MS } from "./until.ts";

/** Starts a browser that ends with the tests of a file. */
export async function startBrowser(t: Lifetime, needs: BrowserNeeds = {}): Promise<Browser> {
  const found = findBrowser(needs);
  assert.ok(found, "No browser. Install chromium or Chrome, or name an executable in CHROMIUM.");
  const browser = await chromium.launch({
    executablePath: found.executable,
    env: { ...process.env, ...found.environment },
    // Tests may run as root and in containers with little shared memory; only our pages are opened.
    // Sound needs no device.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-audio-output"],
  });
  t.after(() => browser.close());
  return browser;
}

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console messages and requests to other origins: tests expect none. */
  readonly complaints: string[];
}

export interface VisitorOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Pixels of the screen for each of the page: with half a window it is a zoom of 200 %. */
  readonly scale?: number;
  /** The language of the browser, like `de-DE`. */
  readonly locale?: string;
}

/** A visitor with a browser of their own: no cookies, one page. */
export async function newVisitor(
  browser: Browser,
  url: string,
  {
    width = 1200,
    height = 800,
    colorScheme = "light",
    scale = 1,
    // Without it, Debian's Chromium has the language "en-US@posix", which Intl rejects.
    locale = "en-US",
  }: VisitorOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height },
    colorScheme,
    deviceScaleFactor: scale,
    locale,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    // Chromium writes a refusal of the server there as well; what it says is on the page.
    const isRefusal = message.text().startsWith("Failed to load resource: the server responded");
    // Some versions of Chromium warn when a service worker answers for a preloaded module.
    const isPreload = message.text().includes("cross-world service worker resource mismatch");
    if (["error", "warning"].includes(message.type()) && !isRefusal && !isPreload) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) complaints.push(`asked for ${request.url()}`);
  });
  return { context, page, complaints };
}
