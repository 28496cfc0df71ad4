// Needs: browser
/**
 * The console and its server: one stream for a browser, what a break does, and whose clock counts.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { startBrowser } from "../../server/test/support/browser.ts";
import { freeze, lift } from "../../server/test/support/freezes.ts";
import { picture, visit } from "../../server/test/support/page-scene.ts";
import { NO_RATES } from "../../server/test/support/scene.ts";
import { type Lifetime, startTestProvider } from "../../server/test/support/test-provider.ts";
import { until } from "../../server/test/support/until.ts";
import { startDetour } from "./support/detour.ts";
import { rowOf, toolsOf, untilLive } from "./support/inbox-scene.ts";

const ends: (() => Promise<void> | void)[] = [];
/** Of the file, also for what a test starts. */
const lifetime: Lifetime = { after: (end) => ends.push(end) };
after(async () => {
  for (const end of ends.reverse()) await end();
});

const detour = await startDetour(lifetime);
const settings = { ...NO_RATES, public_url: detour.url };
let server = await startTestProvider(lifetime, { settings });
detour.lead(server.url);
const browser = await startBrowser(lifetime);
const instance = await server.instance();
const reviewer = await server.token({ kind: "reviewer", role: "admin" });
const ana = await visit(browser, server, "ana");

const TEN_MINUTES_AHEAD = `{
  const Real = Date;
  const ahead = 600_000;
  globalThis.Date = class extends Real {
    constructor(...rest) {
      if (rest.length === 0) super(Real.now() + ahead);
      else super(...rest);
    }
    static now() { return Real.now() + ahead; }
  };
  const origin = performance.timeOrigin + ahead;
  Object.defineProperty(performance, "timeOrigin", { get: () => origin });
}`;

/** One more tab, as its person opens it. */
async function openTab(context: BrowserContext, script?: string): Promise<Page> {
  const page = await context.newPage();
  if (script !== undefined) await page.addInitScript(script);
  await page.goto("/inbox");
  await untilLive(page);
  return page;
}

test("[ours.console.stream] eight tabs of a browser share one stream, and all of them keep up", async () => {
  await ana.page.goto("/inbox");
  await untilLive(ana.page);
  const more = await Promise.all(Array.from({ length: 7 }, () => openTab(ana.context)));
  const request = await server.submit(instance.token, { tool: "in-all-tabs" });
  for (const page of [ana.page, ...more]) await rowOf(page, "in-all-tabs").waitFor();
  assert.equal(detour.streams(), 1);
  await server.decide(reviewer, request.id, "deny");
  for (const page of [ana.page, ...more]) {
    await rowOf(page, "in-all-tabs").waitFor({ state: "detached" });
  }
  for (const page of more) await page.close();
});

test("[ours.console.stream] without shared workers one tab leads, and another one when it is closed", async () => {
  const { context, page } = await visit(browser, server, "lea");
  await page.close();
  const script = "delete globalThis.SharedWorker";
  const first = await openTab(context, script);
  const second = await openTab(context, script);
  await server.submit(instance.token, { tool: "led" });
  for (const tab of [first, second]) await rowOf(tab, "led").waitFor();
  // The tab that is open elsewhere has its own.
  await detour.untilStreams(2);
  await first.close();
  const after = await server.submit(instance.token, { tool: "led-on" });
  await rowOf(second, "led-on").waitFor();
  await untilLive(second);
  await detour.untilStreams(2);
  await server.decide(reviewer, after.id, "deny");
  await rowOf(second, "led-on").waitFor({ state: "detached" });
  await context.close();
});

test("[ours.console.stream] without sharing, a tab polls by itself, and its polls do not keep the session active", async () => {
  const { context, page } = await visit(browser, server, "ole");
  await page.addInitScript(`
    delete globalThis.SharedWorker;
    Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined });
  `);
  await page.goto("/inbox");
  await untilLive(page);
  const requested = page.waitForRequest(
    (request) =>
      request.url().includes("requests?state=pending") &&
      request.headers()["countersign-background"] === "1",
  );
  await server.submit(instance.token, { tool: "asked-for" });
  await rowOf(page, "asked-for").waitFor();
  await requested;
  const key = { token: reviewer };
  const set = await freeze(server, key.token, { scope: "project", note: "Leaked key." });
  await page.getByText("Every call in this project is denied").waitFor();
  await lift(server, reviewer, set.json.id);
  await context.close();
});

test("[ours.console.clock] a row disappears at its deadline by the server's time, in a tab with a clock ten minutes off", async () => {
  const tab = await openTab(ana.context, TEN_MINUTES_AHEAD);
  const { deadline_at } = await server.submit(instance.token, { tool: "brief", timeout: "15s" });
  const row = rowOf(tab, "brief");
  await row.getByText(/^1?[0-9] s left$/).waitFor();
  await row.getByRole("checkbox").check();
  await tab.getByText("1 call selected").waitFor();
  await row.waitFor({ state: "detached" });
  assert.ok(Date.now() >= Date.parse(deadline_at) - 500, "not before its time");
  await tab.getByText("1 call selected").waitFor({ state: "detached" });
  await tab.close();
});

test("[ours.console.freeze] an active freeze is shown on every screen until it is lifted", async () => {
  const { page } = ana;
  await page.goto("/history");
  await untilLive(page);
  const set = await freeze(server, reviewer, { scope: "project", note: "Leaked key." });
  await page.getByText("Every call in this project is denied").waitFor();
  await page.locator(".banners").getByText("Leaked key.").waitFor();
  await picture(page, "banner-frozen");
  const second = await page.context().newPage();
  await second.goto("/inbox");
  await second.getByText("Every call in this project is denied").waitFor();
  await second.close();
  await lift(server, reviewer, set.json.id);
  await page.getByText("Every call in this project is denied").waitFor({ state: "detached" });
});

test("[ours.inbox.list] a request decided by one reviewer leaves the other reviewer's list", async () => {
  const [eva, ben] = await Promise.all(
    ["eva", "ben"].map((login) => visit(browser, server, login)),
  );
  assert.ok(eva !== undefined && ben !== undefined);
  await server.submit(instance.token, { tool: "between-two" });
  for (const { page } of [eva, ben]) {
    await page.goto("/inbox");
    await rowOf(page, "between-two").waitFor();
    await untilLive(page);
  }
  await rowOf(eva.page, "between-two").getByRole("checkbox").check();
  await eva.page.getByRole("button", { name: "Deny…" }).click();
  await eva.page.getByLabel("Why,").fill("Not today.");
  await eva.page.getByRole("button", { name: "Deny 1 call" }).click();
  for (const { page } of [eva, ben]) {
    await rowOf(page, "between-two").waitFor({ state: "detached" });
  }
});

const NO_SHARED_WORKER = "delete globalThis.SharedWorker;";

const NO_LOCKS = 'Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined });';

/** Counts what the page has heard of the stream that it opened last. */
const COUNT_PULSES = `{
  const Real = EventSource;
  globalThis.EventSource = class extends Real {
    constructor(...rest) {
      super(...rest);
      globalThis.heard = 0;
      this.addEventListener("pulse", () => { globalThis.heard++; });
    }
  };
}`;

function pulsesReceivedBy(page: Page): Promise<number> {
  return page.evaluate<number>("globalThis.heard");
}

/** A tab without a shared worker, whose time a test moves: until then it goes on by itself. */
async function openTimed(login: string, script: string): Promise<Page> {
  const { page } = await visit(browser, server, login);
  await page.addInitScript(NO_SHARED_WORKER + script);
  await page.clock.install();
  await page.goto("/inbox");
  await untilLive(page);
  return page;
}

/** Stops the time of the page; a busy machine can need a later time. */
async function stopTime(page: Page, aheadMs = 100): Promise<void> {
  const at = (await page.evaluate<number>("Date.now()")) + aheadMs;
  await page.clock.pauseAt(at).catch(() => stopTime(page, 2 * aheadMs));
}

test("[ours.console.silence] a silently lost connection is reported within five seconds and blocks decisions", async () => {
  const { page } = ana;
  const { id } = await server.submit(instance.token, { tool: "in-silence", timeout: "1h" });
  await page.goto("/inbox");
  await rowOf(page, "in-silence").getByRole("checkbox").check();
  const deny = page.locator("button", { hasText: "Deny…" });
  await untilLive(page);
  const asking = await openTimed("asa", NO_LOCKS);
  const leading = await openTimed("sil", COUNT_PULSES);
  for (const timed of [asking, leading]) await stopTime(timed);
  const before = await pulsesReceivedBy(leading);
  await until(
    async () => ![0, before].includes(await pulsesReceivedBy(leading)),
    "another heartbeat arrives",
  );
  detour.fallSilent();
  const hasAll = async () => (await pulsesReceivedBy(leading)) === detour.pulses();
  await until(hasAll, "it has heard what was on its way");
  await leading.clock.runFor(3_000);
  await untilLive(leading);
  await leading.clock.runFor(1_900);
  await asking.clock.runFor(4_900);
  for (const tab of [leading, asking, page]) await tab.getByText("Disconnected.").waitFor();
  await picture(page, "banner-silent");
  assert.equal(await deny.isDisabled(), true);
  detour.lead(server.url);
  await server.decide(reviewer, id, "deny");
  await rowOf(page, "in-silence").waitFor({ state: "detached" });
  await untilLive(page);
  for (const timed of [asking, leading]) {
    await timed.clock.resume();
    await untilLive(timed);
    await timed.context().close();
  }
});

test("[ours.console.break] a lost connection is shown and blocks decisions; after a restart nothing is lost or duplicated", async () => {
  const { page } = ana;
  const there = ["kept", "ended", "kept-too"];
  const [, ended] = await Promise.all(
    there.map((tool) => server.submit(instance.token, { tool, timeout: "1h" })),
  );
  await page.goto("/inbox");
  await rowOf(page, "kept-too").waitFor();
  await rowOf(page, "kept").getByRole("checkbox").check();
  await untilLive(page);
  const { data } = server;
  detour.lead(undefined);
  await page.getByText("Disconnected.").waitFor();
  await picture(page, "banner-not-live");
  assert.equal(await page.getByRole("button", { name: "Deny…" }).isDisabled(), true);
  assert.equal(await page.getByRole("button", { name: "Approve…" }).isDisabled(), true);
  await server.decide(reviewer, ended?.id ?? "", "deny");
  await server.submit(instance.token, { tool: "meanwhile" });
  await server.stop();
  server = await startTestProvider(lifetime, { settings, data });
  detour.lead(server.url);
  await rowOf(page, "meanwhile").waitFor();
  await page.getByText("Disconnected.").waitFor({ state: "detached" });
  await rowOf(page, "ended").waitFor({ state: "detached" });
  const tools = await toolsOf(page);
  assert.equal(new Set(tools).size, tools.length, `doubled: ${tools}`);
  assert.ok(["kept", "kept-too", "meanwhile"].every((tool) => tools.includes(tool)));
  await page.getByRole("button", { name: "Deny…" }).click();
  await page.getByLabel("Why,").waitFor();
  await page.keyboard.press("Escape");
});

test("[ours.console.break] after a cut the list is current again", async () => {
  const { page } = ana;
  detour.lead(undefined);
  await page.getByText("Disconnected.").waitFor();
  await server.submit(instance.token, { tool: "during-the-cut" });
  detour.lead(server.url);
  await rowOf(page, "during-the-cut").waitFor();
  await untilLive(page);
  assert.equal((await toolsOf(page)).filter((tool) => tool === "during-the-cut").length, 1);
});

test("[ours.inbox.signed-out] a session that ends elsewhere leads every tab to the sign-in, and back", async () => {
  const { page } = ana;
  await page.goto("/inbox?filter=kept");
  await untilLive(page);
  await page.evaluate("fetch('/review/v1/session', { method: 'DELETE' })");
  await page.waitForURL("**/sign-in?next=p%2F*%2Finbox%3Ffilter%3Dkept");
});
