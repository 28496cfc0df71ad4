// Needs: browser
/**
 * The dashboard and the session of an agent in a real browser.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { enforce } from "../../server/test/support/policies.ts";
import { cancel, end } from "../../server/test/support/scene.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

/** Markup, an order of letters turned round, something invisible, and no space to break at. */
const HOSTILE = `<img src=x onerror=alert(1)>\u202Egnp.exe\u200B${"w".repeat(300)}`;

const scene = await startConsoleScene({ after }, { settings: { extensions: "server" } });
const { server, clock, instance, reviewer } = scene;
const { page, complaints } = await scene.member("ana");
const phone = await scene.member("ben", { width: 390, height: 844 });

const volume = page.getByRole("region", { name: /^Resolved requests by/ });
const status = page.getByRole("status");
let first = "";
let second = "";

before(async () => {
  const look = "version: 1\nrules:\n  - { id: looks, match: { tool: db.read }, then: approve }\n";
  await page.goto("/dashboard");
  await page.getByText("No requests were resolved in the last 7 days").waitFor();
  await enforce(server, look);
  const submit = async (tool: string, fields: object = {}) => {
    const request = await server.submit(instance.token, { tool, timeout: "2h", ...fields });
    return request.id;
  };
  const context = { session_id: "se/ssion" };
  await submit("db.read");
  first = await submit("stripe.refund", { server: "stripe-eu", context });
  clock.advance(1_500);
  await server.decide(reviewer, first, "approve");
  clock.advance(88_500);
  second = await submit("stripe.payout", { context });
  clock.advance(41_000);
  await server.decide(reviewer, second, "deny");
  await cancel(server, instance.token, await submit(HOSTILE, { server: HOSTILE, context }));
  await end(
    scene,
    await server.submit(instance.token, { tool: "deploy", timeout: "1m" }),
    "expired",
  );
});

test("[ours.console.dashboard] the dashboard shows figures, a chart with its numbers in words, and rankings", async () => {
  await page.goto("/dashboard");
  await volume.getByText(/2 approved, 1 denied, 1 expired, 1 cancelled/).waitFor();
  await volume.locator("canvas").waitFor();
  const figures = page.getByRole("region", { name: "Figures" });
  await figures.getByText("approved in under 2 s").waitFor();
  assert.match((await figures.textContent()) ?? "", /20 %/);
  await volume.getByText("Show as a table").click();
  await untilCount(volume.locator("tbody tr"), 7);
  await page.getByRole("region", { name: "Tools" }).getByRole("link").first().waitFor();
  await picture(page, "dashboard-desktop-light");
  await assertAccessible(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "dashboard-desktop-dark");
  await assertAccessible(page);
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(complaints, []);
});

test("[ours.console.dashboard] another range is in the address, announced, and keeps the focus", async () => {
  await page.goto("/dashboard");
  await status.filter({ hasText: "Last 7 days: 5 resolved requests." }).waitFor();
  const day = page.getByRole("link", { name: "24 hours" });
  await day.focus();
  await page.keyboard.press("Enter");
  await status.filter({ hasText: "Last 24 hours: 5 resolved requests." }).waitFor();
  assert.equal(new URL(page.url()).search, "?range=24h");
  assert.equal(await page.locator("a:focus").textContent(), "24 hours");
  await page.reload();
  await page.getByRole("heading", { name: "Resolved requests by hour" }).waitFor();
});

test("[ours.console.dashboard] a number leads to exactly its rows in the history", async () => {
  const rows = page.getByRole("list", { name: "Resolved requests" }).getByRole("link");
  for (const [region, name, count] of [
    ["Tools", "stripe.refund", 1],
    ["Servers", "stripe-eu", 1],
    ["Reviewers", "reviewer", 2],
    ["Policy rules", "looks", 1],
    ["Figures", "5", 5],
  ] as const) {
    await page.goto("/dashboard?range=24h");
    const link = page
      .getByRole("region", { name: region, exact: true })
      .getByRole("link", { name, exact: true });
    await link.click();
    await page.waitForURL(/\/history\?/);
    await untilCount(rows, count);
  }
});

test("[ours.console.dashboard] on a phone nothing is wider than the screen, and links can be pressed", async () => {
  await phone.page.goto("/dashboard");
  await phone.page.locator("canvas").waitFor();
  await picture(phone.page, "dashboard-phone-light");
  await assertNoSideways(phone.page);
  await assertTargets(phone.page);
  await assertAccessible(phone.page);
  assert.deepEqual(phone.complaints, []);
});

test("[ours.console.session] a request leads to all calls of its session, in order, with the time between", async () => {
  await page.goto(`/inbox/${second}`);
  await page.getByRole("link", { name: "All calls of this session" }).click();
  await page.waitForURL(`**/sessions/${second}`);
  const calls = page.locator(".calls > li");
  await untilCount(calls, 3);
  await calls.nth(0).getByText("stripe.refund").waitFor();
  await calls
    .nth(0)
    .getByText(/after 1.5 s by reviewer/)
    .waitFor();
  await calls.nth(1).getByText("1 min 30 s later").waitFor();
  assert.equal(await calls.nth(1).locator("a").getAttribute("aria-current"), "true");
  await picture(page, "session-desktop-light");
  await assertAccessible(page);
  await phone.page.goto(`/sessions/${first}`);
  await untilCount(phone.page.locator(".calls > li"), 3);
  await picture(phone.page, "session-phone-light");
  await assertNoSideways(phone.page);
  await assertAccessible(phone.page);
  assert.deepEqual([...complaints, ...phone.complaints], []);
});

test("[ours.console.session] similar decisions lead to their rows in the history", async () => {
  const again = await server.submit(instance.token, { tool: "stripe.payout", timeout: "2h" });
  await page.goto(`/inbox/${again.id}`);
  await page.locator("#similar").getByRole("link", { name: "1 denied" }).click();
  await page.waitForURL(/\/history\?tool=stripe.payout&instance=.*&status=denied/);
  await untilCount(page.getByRole("list", { name: "Resolved requests" }).getByRole("link"), 1);
});

test("[ours.policy.suggestions] an editor opens a suggested rule as a draft of the policy", async () => {
  for (let i = 0; i < 5; i++) {
    const request = await server.submit(instance.token, { tool: "db.list", arguments: { n: 1 } });
    clock.advance(5_000);
    await server.decide(reviewer, request.id, "approve");
  }
  const editor = await scene.member("eve", { role: "editor" });
  await editor.page.goto("/dashboard");
  const panel = editor.page.getByRole("region", { name: "Rules that would have saved questions" });
  await panel.getByRole("button", { name: "Find rules" }).click();
  await panel.getByText(/Found 1 rule in \d+ requests/).waitFor();
  await panel.getByText("It would have answered 5 of 5 questions").waitFor();
  await assertAccessible(editor.page);
  await picture(editor.page, "dashboard-suggestions");
  await panel.getByRole("button", { name: "Open as a draft" }).click();
  await editor.page.waitForURL("**/policies");
  await editor.page.locator("#policy-verdict").waitFor();
  const drafts = await editor.page.evaluate<string>("sessionStorage['countersign.drafts']");
  assert.match(drafts, /suggested-[0-9a-f]{12}/);
  assert.deepEqual(editor.complaints, []);
  await page.getByRole("button", { name: "Find rules" }).waitFor({ state: "detached" });
});
