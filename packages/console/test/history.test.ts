// Needs: browser
/**
 * The history in a real browser: rows, filters, figures, files, and a list of any length.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { copyDecided, parseCsv } from "../../server/test/support/history.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { cancel, end, submitBody } from "../../server/test/support/scene.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

/** Markup, an order of letters turned round, something invisible, and no space to break at. */
const HOSTILE = `<img src=x onerror=alert(1)>\u202Egnp.exe\u200B${"w".repeat(300)}`;

/** JavaScript's JSON.parse would round this number. */
const EXACT = '{"n":9007199254740993,"m":1.10,"cell":"=1+1"}';

const scene = await startConsoleScene({ after }, { settings: { extensions: "server" } });
const { server, clock, instance, reviewer } = scene;
const { page, complaints } = await scene.member("ana");

const rows = page.getByRole("list", { name: "Resolved requests" });
const links = rows.getByRole("link");
const row = (text: string) => links.filter({ hasText: text });

before(async () => {
  const ask = (tool: string, fields: object = {}) =>
    server.submit(instance.token, { tool, timeout: "2h", ...fields });
  const body = `{"tool":"db.read","timeout":"2h","arguments":${EXACT}}`;
  const { json: exact } = await submitBody(server, instance.token, body);
  clock.advance(1_500);
  await server.decide(reviewer, exact.id, "approve", { valid_for: "2m", note: "=1+1" });
  const denied = await ask("stripe.refund", { server: "stripe-eu" });
  clock.advance(41_000);
  await server.decide(reviewer, denied.id, "deny", { note: "Not on Sundays." });
  const cancelled = await ask("stripe.payout");
  await cancel(server, instance.token, cancelled.id);
  await end(scene, await ask(HOSTILE, { server: HOSTILE }), "denied");
  await end(scene, await ask("deploy", { timeout: "1m" }), "expired");
  clock.advance(60_000);
  const fresh = await ask("deploy.canary");
  await server.decide(reviewer, fresh.id, "approve", { valid_for: "24h" });
});

test("resolved requests are listed with outcome, decider and time", async () => {
  await page.goto("/history");
  await row("deploy.canary").filter({ hasText: "Approved" }).waitFor();
  await untilCount(links, 6);
  await row("stripe.refund")
    .filter({ hasText: /on stripe-eu.*Denied.*reviewer/ })
    .waitFor();
  await row("stripe.payout")
    .filter({ hasText: /Cancelled.*The agent/ })
    .waitFor();
  await row("deploy")
    .filter({ hasText: /Expired.*The deadline/ })
    .waitFor();
  await picture(page, "history-desktop-light");
  assert.deepEqual(complaints, []);
});

test("an expired approval is marked as expired and stays approved", async () => {
  await page.goto("/history");
  await row("db.read")
    .filter({ hasText: /Approved.*approval expired/ })
    .waitFor();
  const fresh = row("deploy.canary");
  assert.doesNotMatch((await fresh.textContent()) ?? "", /approval expired/);
});

test("a row opens the resolved request, and Back returns to the previous position", async () => {
  await page.goto("/history?status=denied");
  await row("stripe.refund").click();
  await page.waitForURL(/\/history\/[0-9a-f-]{36}$/);
  await page.locator(".call").getByText("on stripe-eu").waitFor();
  await page.goBack();
  await page.waitForURL("**/history?status=denied");
  await row("stripe.refund").waitFor();
});

test("filters are in the address, narrow the list and figures, and can be cleared", async () => {
  await page.goto("/history");
  await untilCount(links, 6);
  await page.getByLabel("Tool", { exact: true }).fill("stripe.*");
  await page.keyboard.press("Enter");
  await untilCount(links, 2);
  await page.getByLabel("Denied", { exact: true }).check();
  await untilCount(links, 1);
  assert.equal(new URL(page.url()).search, "?tool=stripe.*&status=denied");
  await page.getByText("0 approved, 1 denied").waitFor();
  await page.getByLabel("Approved", { exact: true }).check();
  assert.match(page.url(), /status=approved%2Cdenied$/);
  await page.reload();
  await untilCount(links, 1);
  assert.equal(await page.getByLabel("Tool", { exact: true }).inputValue(), "stripe.*");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await untilCount(links, 6);
  await page.getByLabel("Server", { exact: true }).fill("stripe-eu");
  await page.keyboard.press("Enter");
  await untilCount(links, 1);
  assert.equal(new URL(page.url()).search, "?server=stripe-eu");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await untilCount(links, 6);
  await page.getByLabel("Decided by").selectOption("system");
  await untilCount(links, 1);
  await page.getByLabel("Decided by").selectOption({ label: "reviewer" });
  await untilCount(links, 4);
  await page.getByLabel("Instance").selectOption({ index: 1 });
  await untilCount(links, 4);
  await page.goto("/history?from=2001-01-01&to=2001-01-31");
  await page.getByText("No matching requests").waitFor();
});

test("the empty state for a part of a tool's name offers that prefix", async () => {
  await page.goto("/history?tool=stripe");
  await page.getByRole("button", { name: "Show tools that start with stripe" }).click();
  await untilCount(links, 2);
  assert.equal(new URL(page.url()).search, "?tool=stripe*");
  assert.equal(await page.evaluate("document.activeElement.tagName"), "H1");
  await page.goto("/history?tool=nothing*");
  await page.getByText("No matching requests").waitFor();
  await untilCount(page.getByRole("button", { name: /Show tools/ }), 0);
});

test("figures say in words what the filters pass: approvals, time, expired, too fast", async () => {
  await page.goto("/history");
  const figures = page.getByRole("region", { name: "Figures" });
  await figures.getByText("50 %").waitFor();
  const text = (await figures.textContent()) ?? "";
  assert.match(text, /2 approved, 2 denied/);
  assert.match(text, /median time to decision[^a-z]+ s4 decisions by reviewers/);
  assert.match(text, /expired1no decision in time/);
  assert.match(text, /decided in under 2 s3too fast/);
});

test("files have the rows of the filters, exact numbers, and no formulas", async () => {
  await page.goto("/history?tool=db.read");
  await row("db.read").waitFor();
  const take = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name, exact: true }).click(),
    ]);
    return {
      name: download.suggestedFilename(),
      text: readFileSync(await download.path(), "utf8"),
    };
  };
  const csv = await take("CSV");
  const lines = csv.text.trimEnd().split("\r\n");
  assert.equal(csv.name, "history.csv");
  assert.equal(lines.length, 3);
  assert.match(lines[1] ?? "", /"db.read"/);
  assert.match(lines[1] ?? "", /9007199254740993.*1\.10/);
  assert.match(lines[1] ?? "", /"'=1\+1"/);
  const json = await take("JSON lines");
  assert.equal(json.name, "history.jsonl");
  assert.equal(json.text.trimEnd().split("\n").length, 2);
  assert.ok(json.text.includes(`"arguments":${EXACT}`));
});

/** Beginnings of spreadsheet formulas, including the full-width forms. */
const FORMULAS = ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\uFF1D1", "\uFF0B1", "\uFF20A1"];

test("exports have the listed rows, and no cell starts a formula", async () => {
  const cells = await server.instance();
  for (const [at, formula] of FORMULAS.entries()) {
    const fields = { tool: `${formula}.cell`, agent_reasoning: formula, context: { at } };
    const { id } = await server.submit(cells.token, fields);
    await server.decide(reviewer, id, "deny", { note: formula });
  }
  await page.goto(`/history?instance=${cells.id}`);
  await untilCount(links, FORMULAS.length);
  const addresses = await links.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  const ids = addresses.map((address) => address?.split("/").at(-1));
  const take = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name, exact: true }).click(),
    ]);
    return readFileSync(await download.path(), "utf8");
  };
  const [head = [], ...records] = parseCsv(await take("CSV"));
  const of = (record: readonly string[], name: string) => record[head.indexOf(name)] ?? "";
  const listed = records.filter((record) => ids.includes(of(record, "id")));
  // The last one says how many there are.
  assert.equal(records.length, listed.length + 1);
  assert.deepEqual(listed.map((record) => of(record, "id")).sort(), ids.toSorted());
  for (const record of listed) {
    assert.ok(
      !record.some((cell) => /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell)),
      `${record}`,
    );
  }
  for (const name of ["tool", "note", "agent_reasoning"]) {
    const shown = listed.map((record) => of(record, name));
    // Behind a tab or a line break another reader would begin a cell.
    const guarded = FORMULAS.map((formula) => `'${formula.replace(/(?<=[\t\r])=/, "'=")}`);
    assert.ok(
      guarded.every((formula) => shown.some((cell) => cell.startsWith(formula))),
      name,
    );
  }
  const lines = (await take("JSON lines")).trimEnd().split("\n");
  const found = lines.map((line) => (JSON.parse(line) as { id?: string }).id).slice(0, -1);
  assert.deepEqual(found.sort(), ids.toSorted());
});

test("agents' texts are displayed as text: nothing runs, hides or scrolls sideways", async () => {
  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 740 });
    await page.goto("/history");
    const hostile = row("<img src=x");
    await hostile.waitFor();
    assert.match((await hostile.textContent()) ?? "", /\\u\{202E\}gnp\.exe\\u\{200B\}/);
    await assertNoSideways(page);
    await page.getByRole("button", { name: "Filters" }).click();
    await assertTargets(page);
    await assertNoSideways(page);
    await picture(page, `history-phone-${width}-light`);
    if (width === 360) await assertAccessible(page);
    await picture(page, `history-phone-${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(complaints, []);
});

test("by keyboard alone: from the filters to a row, and into the request", async () => {
  await page.goto("/history");
  await row("deploy.canary").waitFor();
  await page.getByLabel("Cancelled", { exact: true }).focus();
  await page.keyboard.press("Space");
  await row("stripe.payout").waitFor();
  await untilCount(links, 1);
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press("Tab");
    if (await row("stripe.payout").evaluate((link) => link.matches(":focus-visible"))) break;
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/history\//);
});

test("axe reports no serious violation, in light and dark", async () => {
  await page.goto("/history?status=approved");
  await row("deploy.canary").waitFor();
  await assertAccessible(page);
  await picture(page, "history-desktop-dark");
});

test("thousands of rows scroll in a page of few, and Back finds the place again", async () => {
  const last = await server.submit(instance.token, { tool: "many" });
  await server.decide(reviewer, last.id, "deny");
  await copyDecided(scene, last.id, 3_600);
  await page.goto("/history?tool=many");
  const items = rows.getByRole("listitem");
  await row("many").first().waitFor();
  const places = () =>
    items.evaluateAll((all) => all.map((item) => Number(item.getAttribute("aria-posinset"))));
  const isAtEnd = () =>
    items.evaluateAll((all) =>
      all.some((item) => item.getAttribute("aria-posinset") === item.getAttribute("aria-setsize")),
    );
  while (!(await isAtEnd())) {
    await page.evaluate("scrollBy(0, 4000)");
    await page.waitForFunction("document.querySelector('ol.windowed [data-at] a') !== null");
    assert.ok((await items.count()) < 100, "only what can be seen is in the page");
  }
  assert.equal(Math.max(...(await places())), 3_601);
  await page.evaluate("scrollTo(0, 0)");
  // The pages in between have been forgotten and are asked for again.
  await page.evaluate("scrollTo(0, 84 * 900)");
  await items
    .filter({ has: page.getByRole("link") })
    .first()
    .waitFor();
  const middle = rows.locator("[data-at='900'] a");
  const address = await middle.getAttribute("href");
  await middle.click();
  await page.waitForURL(/\/history\//);
  await page.goBack();
  await middle.waitFor();
  assert.equal(await middle.getAttribute("href"), address);
});
