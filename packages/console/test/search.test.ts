// Needs: browser
/** Full-text search in a real browser: from the history, with marked matches. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

/** Markup, and an order of letters that is turned round. */
const HOSTILE = "<img src=x onerror=alert(1)>\u202Eexe";

const POLICY = `
version: 1
rules:
  - id: matched
    match: { tool: vault.read }
    then: ask
    ask: { confirm: match }
`;

const scene = await startConsoleScene({ after });
const { server, clock, instance, reviewer } = scene;
const { page, complaints } = await scene.member("ana");

const field = page.getByRole("searchbox", { name: "Search all requests" });
const results = page.getByRole("list", { name: "Search results" });
const links = results.getByRole("link");

let vaultId = "";

before(async () => {
  const admin = await server.token({ kind: "reviewer", name: "root", role: "operator" });
  const published = await server.call("POST", "/review/v1/policy", {
    token: admin,
    body: { source: POLICY, expected_number: 0 },
  });
  assert.equal(published.status, 201, published.text);
  const ask = async (tool: string, args: object) => {
    clock.advance(1_000);
    return server.submit(instance.token, { tool, timeout: "2h", arguments: args });
  };
  const refund = await ask("stripe.refund", { order: "A-10077", text: `for ${HOSTILE} now` });
  await server.decide(reviewer, refund.id, "deny", { note: "Refunds need a ticket." });
  await ask("db.query", { sql: "select id from refunds" });
  vaultId = (await ask("vault.read", { path: "secret/refunds" })).id;
  await until(async () => {
    clock.advance(1_000);
    const found = await server.call<{ requests: readonly object[] }>(
      "GET",
      "/review/v1/search?q=refund*",
      { token: reviewer },
    );
    return found.json.requests.length === 3 && found.text.includes("ticket");
  }, "the requests are indexed");
});

test("a search finds pending and resolved requests, and marks the matches", async () => {
  await page.goto("/history");
  await field.fill("refund*");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/history?q=refund*");
  await untilCount(links, 3);
  await page.getByRole("status").filter({ hasText: "3 results" }).waitFor();
  const denied = links.filter({ hasText: "stripe.refund" });
  await denied.filter({ hasText: /Denied/ }).waitFor();
  assert.deepEqual(await denied.locator("mark.found").allTextContents(), ["refund", "Refunds"]);
  await assertAccessible(page);
  await picture(page, "search-desktop");
});

test("a match in hostile text stays text, and marks its hidden characters", async () => {
  await page.goto("/history?q=onerror");
  const row = links.first();
  await row.locator(".ended-match mark.unseen").waitFor();
  assert.equal(await results.locator("img").count(), 0);
  await row.locator("mark.found").getByText("onerror").waitFor();
});

test("filters narrow a search, and a row opens the request and comes back", async () => {
  await page.goto("/history?q=refund*");
  await page.getByLabel("Tool", { exact: true }).fill("stripe.*");
  await page.keyboard.press("Enter");
  await untilCount(links, 1);
  await links.first().click();
  await page.waitForURL(/\/history\/[0-9a-f-]{36}$/);
  await page.goBack();
  await untilCount(links, 1);
});

test("the address of a pending request to confirm by match shows no complete id", async () => {
  await page.goto("/history?q=vault");
  await untilCount(links, 1);
  const address = (await links.first().getAttribute("href")) ?? "";
  assert.ok(address.endsWith(`${vaultId.slice(0, -4)}----`), address);
  await links.first().click();
  await page.getByRole("heading", { name: /vault\.read/ }).waitFor();
});

test("filters are saved as a view under a name, opened and removed", async () => {
  await page.goto("/history?q=refund*&status=denied");
  const name = page.getByLabel("Save these filters as");
  await name.fill("Denied refunds");
  await page.keyboard.press("Enter");
  const views = page.getByRole("region", { name: "Saved views" });
  const view = views.getByRole("link", { name: "Denied refunds" });
  await view.waitFor();
  await assertAccessible(page);
  await picture(page, "search-views");
  await page.goto("/history");
  await view.click();
  await page.waitForURL("**/history?q=refund*&status=denied");
  await untilCount(links, 1);
  await views.getByRole("button", { name: "Remove the view Denied refunds" }).click();
  await view.waitFor({ state: "detached" });
});

test("two tabs keep the views of each other, and the browser stores none", async () => {
  const other = await page.context().newPage();
  for (const tab of [page, other]) {
    await tab.goto("/history?tool=vault.read");
    await tab.getByLabel("Save these filters as").waitFor();
  }
  await other.goto("/history?tool=second");
  await saveView(other, "second tab");
  await saveView(page, "first tab");
  const names = ["second tab", "first tab"];
  for (const name of names) await page.getByRole("link", { name }).waitFor();
  const copy = await page.evaluate('localStorage.getItem("countersign.preferences")');
  for (const name of names) assert.ok(!String(copy).includes(name));
  for (const name of names) {
    await page.getByRole("button", { name: `Remove the view ${name}` }).click();
    await page.getByRole("link", { name }).waitFor({ state: "detached" });
  }
  await other.close();
});

async function saveView(tab: Page, name: string): Promise<void> {
  await tab.getByLabel("Save these filters as").fill(name);
  await tab.getByRole("button", { name: "Save view" }).click();
  await tab.getByRole("link", { name }).waitFor();
}

test("Clear filters keeps the words of the search", async () => {
  await page.goto("/history?q=vault&status=denied");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.waitForURL("**/history?q=vault");
});

test("a search without results says what to do", async () => {
  await page.goto("/history?q=nowhere");
  await page.getByText("No matching requests").waitFor();
  await page.goto(`/history?q=${encodeURIComponent('" * ( &')}`);
  await page.getByText("No matching requests").waitFor();
  assert.deepEqual(complaints, []);
});

test("a row of the history shows the call in one line", async () => {
  await page.goto("/history");
  const row = page.getByRole("list", { name: "Resolved requests" }).getByRole("link");
  await row.getByText("order: A-10077").waitFor();
  await picture(page, "search-history");
});

test("on a phone the search needs no unfolding", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/history?q=refund*");
  await untilCount(links, 3);
  await assertTargets(page);
  await assertNoSideways(page);
  await picture(page, "search-phone");
});
