// Needs: browser
/**
 * No screen moves what a user reads: neither while it loads, nor when a new request arrives. The
 * measure is the cumulative layout shift of Core Web Vitals, without moves that follow an input.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page, Request } from "playwright-core";
import { untilSealed } from "../../server/test/support/audit-logs.ts";
import { until } from "../../server/test/support/until.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openScreen, screensOf } from "./support/screens.ts";

/** "Good" in Core Web Vitals. */
const SHIFT_MAX = 0.1;

const WINDOWS = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const;

const scene = await startConsoleScene({ after });
const { server, instance, reviewer } = scene;

/** Pending requests before the first one arrives. */
const WAITING = 13;

let waits = "";
let ended = "";

before(async () => {
  const same = { tool: "stripe.refund", arguments: { order: "A-1" }, timeout: "30m" };
  const session = { context: { session_id: "one" }, timeout: "1h" };
  waits = (await server.submit(instance.token, same)).id;
  for (let n = 0; n < WAITING - 1; n++) {
    const args = { path: `/srv/${n}`, text: "x".repeat(n * 40) };
    await server.submit(instance.token, { tool: `tool-${n}`, arguments: args, ...session });
  }
  ended = (await server.submit(instance.token, { tool: "deploy", ...session })).id;
  await server.decide(reviewer, ended, "approve", { note: "Fine." });
  await untilSealed(scene);
});

/** Runs in each document before its scripts. */
const OBSERVE = `
  const shifts = globalThis.shifts = [];
  const nameOf = (node) => {
    if (node === null) return "(removed)";
    const element = node.nodeType === 1 ? node : node.parentElement;
    if (element === null) return node.nodeName;
    const { tagName, id, className } = element;
    return tagName.toLowerCase() + (id && "#" + id) + (className && "." + className);
  };
  const boxOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
  const keep = (list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      const moved = sources.map(({ node, previousRect, currentRect }) =>
        nameOf(node) + " from " + boxOf(previousRect) + " to " + boxOf(currentRect));
      shifts.push({ value, moved });
    }
  };
  const observer = new PerformanceObserver(keep);
  observer.observe({ type: "layout-shift", buffered: true });
  globalThis.takeShifts = () => {
    keep({ getEntries: () => observer.takeRecords() });
    return shifts;
  };
`;

interface Shift {
  readonly value: number;
  readonly moved: readonly string[];
}

/** Two frames later, the browser has measured what changed. */
async function shiftsOf(page: Page): Promise<readonly Shift[]> {
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
  );
  return page.evaluate<Shift[]>("takeShifts()");
}

function assertSmall(shifts: readonly Shift[]): void {
  const score = shifts.reduce((sum, { value }) => sum + value, 0);
  const sources = shifts.map(({ value, moved }) => `${value.toFixed(3)}: ${moved.join("; ")}`);
  assert.ok(score < SHIFT_MAX, `${score.toFixed(3)}\n${sources.join("\n")}`);
}

/** A new request has a place among the rows of the inbox. */
const isOfRows = ({ moved }: Shift) => moved.every((words) => words.startsWith("li.row"));

/** Requests of the page without a response. An event stream has a response that does not end. */
function followLoading(page: Page): ReadonlySet<Request> {
  const loading = new Set<Request>();
  page.on("request", (request) => {
    const isStream = new URL(request.url()).pathname.endsWith("/events");
    if (request.resourceType() === "fetch" && !isStream) loading.add(request);
  });
  page.on("requestfinished", (request) => loading.delete(request));
  page.on("requestfailed", (request) => loading.delete(request));
  page.on("framenavigated", () => loading.clear());
  return loading;
}

let arrived = 0;

/** The navigation of every screen shows how many requests wait for the user. */
async function untilCounted(page: Page, count: string): Promise<void> {
  const shown = page.locator("nav .count", { hasText: count });
  await shown.first().waitFor({ state: "attached" });
}

for (const { width, height } of WINDOWS) {
  test(`[ours.console.still] no screen moves while it loads, or when a request arrives (${width} px)`, async (t) => {
    const { page, context } = await scene.visitor(`ona${width}`, {
      role: "operator",
      width,
      height,
    });
    const loading = followLoading(page);
    await page.addInitScript(OBSERVE);
    for (const screen of screensOf({ pending: waits, resolved: ended, instance: instance.id })) {
      await t.test(screen.name, async () => {
        await openScreen(page, screen);
        await until(
          () => loading.size === 0,
          `responses for ${[...loading].map((one) => one.url())}`,
        );
        const loaded = await shiftsOf(page);
        assertSmall(loaded);
        await server.submit(instance.token, {
          tool: `new-${arrived}`,
          arguments: { n: arrived },
          timeout: "10m",
        });
        arrived++;
        await untilCounted(page, `${WAITING + arrived}`);
        const later = (await shiftsOf(page)).slice(loaded.length);
        assertSmall(later.filter((shift) => !isOfRows(shift)));
      });
    }
    await context.close();
  });
}
