/**
 * Opens the built site in a browser: `npm run site:check`. Pages must load without a request to
 * another host and without an error, on a desktop and on a phone, and search must find a page.
 */

import assert from "node:assert/strict";
import { createReadStream, existsSync, mkdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { findBrowser } from "../test-run/browser.ts";
import { SITE } from "./write-pages.ts";

const DIST = join(SITE, "dist");

/** A folder that gets a picture of each page. */
const { SCREENSHOTS } = process.env;

const PAGES = [
  "",
  "quickstart/http-client.html",
  "reference/http/agent.html",
  "reference/cli.html",
  "comparison.html",
];

const SCREENS = [
  { name: "desktop", width: 1280, height: 800, colorScheme: "light" },
  { name: "desktop-dark", width: 1280, height: 800, colorScheme: "dark" },
  { name: "phone", width: 360, height: 740, colorScheme: "light" },
  { name: "phone-dark", width: 360, height: 740, colorScheme: "dark" },
] as const;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".png": "image/png",
};

const server = createServer((request, response) => {
  const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
  const file = join(DIST, path.endsWith("/") ? `${path}index.html` : path);
  if (!existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" });
  createReadStream(file).pipe(response);
});

async function checkScreen(
  browser: Browser,
  url: string,
  screen: (typeof SCREENS)[number],
): Promise<void> {
  const { name, width, height, colorScheme } = screen;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) faults.push(`request to ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    const { errorText = "" } = request.failure() ?? {};
    // The site loads linked pages in advance, and the next page aborts what is not complete.
    if (errorText !== "net::ERR_ABORTED") faults.push(`${errorText}: ${request.url()}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  for (const path of PAGES) {
    await page.goto(url + path, { waitUntil: "networkidle" });
    const widest = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(widest <= width, `${path} is ${widest} pixels wide on ${name}`);
    if (SCREENSHOTS !== undefined) {
      const file = `${name}-${path.replaceAll("/", "-") || "index"}.png`;
      await page.screenshot({ path: join(SCREENSHOTS, file) });
    }
  }
  await page.locator("#local-search button").first().click();
  await page.locator("#localsearch-input").fill("quorum");
  await page.locator(".VPLocalSearchBox .result").first().waitFor();
  const found = await page.locator(".VPLocalSearchBox .result").allTextContents();
  assert.ok(
    found.some((text) => /quorum|policy|people/i.test(text)),
    found.join("; "),
  );
  if (SCREENSHOTS !== undefined) {
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-search.png`) });
  }
  assert.deepEqual(faults, [], name);
  await context.close();
  console.log(`ok ${name}: ${PAGES.length} pages, ${found.length} results for "quorum"`);
}

const found = findBrowser();
assert.ok(found, "No browser. Install chromium or Chrome, or set CHROMIUM to an executable.");
if (SCREENSHOTS !== undefined) mkdirSync(SCREENSHOTS, { recursive: true });
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await chromium.launch({
  executablePath: found.executable,
  env: { ...process.env, ...found.environment },
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const screen of SCREENS) await checkScreen(browser, url, screen);
} finally {
  await browser.close();
  server.close();
}
