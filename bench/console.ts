/**
 * The console in a real browser on the same machine: how soon the inbox is there, how soon a call
 * is in it, and how evenly the history scrolls. Times are taken by the page itself, each after the
 * frame in which what it waits for was drawn.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { startBrowser } from "../packages/server/test/support/browser.ts";
import { growStore } from "./growth.ts";
import type { Options } from "./options.ts";
import { percentile, type Spread, spreadOf } from "./statistics.ts";
import { type Subject, startSubject } from "./subject.ts";
import { perSecond, tell } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface ConsoleTimes {
  readonly pending: number;
  /** From the beginning of the navigation to the first rows, in ms: nothing kept from before. */
  readonly firstList: Spread;
  /** The same where the browser has been before. */
  readonly againList: Spread;
  /** From the sending of a request to its row, in ms. */
  readonly arrival: Spread;
  readonly stored: number;
  readonly scrolls: readonly Scroll[];
}

export interface Scroll {
  readonly what: string;
  /** From frame to frame, in ms. */
  readonly frames: Spread & { readonly p95: number };
  readonly seconds: number;
  /** What a frame costs the thread of the page, in ms of processor time: whatever else runs. */
  readonly cpuMs: number;
  /** Of that, scripts. */
  readonly scriptMs: number;
  /** Rows that were in the page at once, at most. */
  readonly rowsMax: number;
  /** How many rows lie above where it ended. */
  readonly rows: number;
}

const PENDING = 200;
const STORED = 100_000;
const LISTS_PER_ROUND = 3;
const ARRIVALS = 40;
const ARRIVAL_PAUSE_MS = 250;
const PATIENCE_MS = 60_000;
const ASK_EVERY_MS = 50;

/** Frames of somebody who reads on, and pixels for each. */
const READING = { what: "reading on, 2,400 px/s", px: 40, frames: 600 };
const FLINGING = { what: "as fast as it goes, to the end", px: 3_000, frames: 20_000 };

export async function measureConsole({ stored, rounds }: Options): Promise<ConsoleTimes> {
  const folder = temporaryFolder();
  const count = stored === 0 ? STORED : stored;
  tell(`console: ${perSecond(count)} requests are stored`);
  await growStore(folder, count);
  const subject = await startSubject({ connections: 1, folder, firstNumber: 1, setup: true });
  const ends: (() => Promise<void> | void)[] = [() => subject.stop()];
  try {
    const browser = await startBrowser({ after: (end) => ends.unshift(end) });
    const filled = await subject.fill({ seconds: 60, count: PENDING });
    const context = await signIn(browser, subject);
    tell("console: the first list");
    const lists = await timeLists(browser, context, {
      port: subject.port,
      count: rounds * LISTS_PER_ROUND,
    });
    tell("console: arrivals");
    const arrival = spreadOf(await timeArrivals(context, subject));
    const scrolls: Scroll[] = [];
    for (const way of [READING, FLINGING]) {
      tell(`console: scrolling, ${way.what}`);
      scrolls.push(await scroll(context, way));
    }
    return { pending: filled.length, ...lists, arrival, stored: count, scrolls };
  } finally {
    for (const end of ends) await end();
    removeFolder(folder);
  }
}

/** The first person, and a browser where they are signed in. */
async function signIn(browser: Browser, { port, setupToken }: Subject): Promise<BrowserContext> {
  const context = await newContext(browser, port);
  const page = await context.newPage();
  await page.goto(`/setup#${setupToken}`);
  for (const [label, value] of [
    ["Your name", "Ana Ibarra"],
    ["Login", "ana"],
    ["Password", "seven grey herons wait"],
  ] as const) {
    await page.getByLabel(label, { exact: true }).fill(value);
  }
  await page.getByRole("button", { name: "Create account", exact: true }).click();
  await page.waitForURL("**/inbox");
  await page.locator(".row").first().waitFor();
  await page.close();
  return context;
}

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;

function newContext(browser: Browser, port: number, storageState?: State): Promise<BrowserContext> {
  return browser.newContext({
    baseURL: `http://localhost:${port}`,
    viewport: { width: 1280, height: 800 },
    ...(storageState && { storageState }),
  });
}

/** Before anything of the page runs: notes when the frame is over that drew the first row. */
const NOTE_FIRST_ROW = `new MutationObserver((_, observer) => {
  if (document.querySelector(".row") === null) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { globalThis.firstRowAt = performance.now(); }));
}).observe(document, { subtree: true, childList: true })`;

async function timeLists(
  browser: Browser,
  signedIn: BrowserContext,
  { port, count }: { readonly port: number; readonly count: number },
): Promise<Pick<ConsoleTimes, "firstList" | "againList">> {
  const state = await signedIn.storageState();
  const [first, again]: [number[], number[]] = [[], []];
  for (let i = 0; i < count; i++) {
    const context = await newContext(browser, port, state);
    const page = await context.newPage();
    await page.addInitScript(NOTE_FIRST_ROW);
    first.push(await timeList(page));
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
    again.push(await timeList(page));
    await context.close();
  }
  return { firstList: spreadOf(first), againList: spreadOf(again) };
}

async function timeList(page: Page): Promise<number> {
  await page.goto("/inbox");
  return noted(page, "globalThis.firstRowAt");
}

/** Asked from outside again and again: the page evaluates no text. */
async function noted(page: Page, what: string): Promise<number> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const at = await page.evaluate<number | undefined>(what);
    if (at !== undefined) return at;
    if (performance.now() > end) throw new Error(`the page has not noted ${what}`);
    await sleep(ASK_EVERY_MS);
  }
}

/** In the page: when each tool was first drawn, by the clock that all processes share. */
const NOTE_ARRIVALS = `(() => {
  globalThis.drawn = {};
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll(".row .tool")) {
      if (!textContent.startsWith("bench.arrival-") || textContent in drawn) continue;
      drawn[textContent] = undefined;
      requestAnimationFrame(() => setTimeout(() => {
        drawn[textContent] = performance.timeOrigin + performance.now();
      }));
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

async function timeArrivals(
  context: BrowserContext,
  { port, token }: Subject,
): Promise<readonly number[]> {
  const page = await context.newPage();
  await page.goto("/inbox");
  await page.locator(".row").first().waitFor();
  await page.locator(".connection.live").waitFor();
  await page.evaluate(NOTE_ARRIVALS);
  const latencies: number[] = [];
  for (let i = 0; i < ARRIVALS; i++) {
    const tool = `bench.arrival-${i}`;
    const sentAt = performance.timeOrigin + performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/v1/requests`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "idempotency-key": tool,
        "content-type": "application/json",
      },
      // Sooner over than all others, so its row is the first that is drawn.
      body: JSON.stringify({ tool, arguments: { order: i }, timeout: "600s" }),
    });
    if (response.status !== 201) throw new Error(`a request was answered ${response.status}`);
    latencies.push((await noted(page, `globalThis.drawn["${tool}"]`)) - sentAt);
    await sleep(ARRIVAL_PAUSE_MS);
  }
  await page.close();
  return latencies;
}

/** In the page: scrolls by so many pixels in each frame, until the end or for so many frames. */
const SCROLL = `async ({ px, frames }) => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const list = document.querySelector("ol.windowed");
  const times = [];
  let rowsMax = 0;
  let last = await frame();
  const startedAt = last;
  while (times.length < frames) {
    scrollBy(0, px);
    const now = await frame();
    times.push(now - last);
    last = now;
    rowsMax = Math.max(rowsMax, list.childElementCount);
    const isAtEnd = [...list.children].some((row) =>
      row.getAttribute("aria-posinset") === row.getAttribute("aria-setsize") &&
      row.childElementCount > 0);
    if (isAtEnd) break;
  }
  const places = [...list.children].map((row) => Number(row.getAttribute("aria-posinset")));
  return { times, rowsMax, seconds: (last - startedAt) / 1000, rows: Math.max(...places) };
}`;

async function scroll(
  context: BrowserContext,
  way: { readonly what: string; readonly px: number; readonly frames: number },
): Promise<Scroll> {
  const page = await context.newPage();
  await page.goto("/history");
  await page.locator("ol.windowed a").first().waitFor();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await taskMs(cdp);
  const { times, ...rest } = (await page.evaluate(`(${SCROLL})(${JSON.stringify(way)})`)) as {
    readonly times: readonly number[];
  } & Pick<Scroll, "seconds" | "rowsMax" | "rows">;
  const after = await taskMs(cdp);
  await page.close();
  return {
    what: way.what,
    ...rest,
    cpuMs: (after.all - before.all) / times.length,
    scriptMs: (after.scripts - before.scripts) / times.length,
    frames: { ...spreadOf(times), p95: percentile(times, 95) },
  };
}

/** Processor time of the page's thread so far. */
async function taskMs(
  cdp: CDPSession,
): Promise<{ readonly all: number; readonly scripts: number }> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  const of = (name: string) => (metrics.find((one) => one.name === name)?.value ?? 0) * 1_000;
  return { all: of("TaskDuration"), scripts: of("ScriptDuration") };
}
