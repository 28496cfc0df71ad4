// Needs: browser
/**
 * Deciding one request after another: list and request side by side, the next request after a
 * decision, undo from everywhere, and selections by keyboard.
 */

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Page } from "playwright-core";
import { ManualClock } from "../../server/test/support/manual-clock.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { publish } from "../../server/test/support/publishing.ts";
import { require } from "../../server/test/support/requirements.ts";
import { assertAccessible, assertNoSideways } from "./support/axe.ts";
import { rowOf, startInboxScene, untilLive } from "./support/inbox-scene.ts";

/** Does not advance: a delayed verdict stays delayed. */
const scene = await startInboxScene({ after }, { clock: new ManualClock() });
const { server, instance } = scene;
const { store } = server.provider.context;
const { page, complaints } = await scene.visitor("ana", { width: 1280, height: 800 });
const phone = await scene.visitor("ben", { width: 390, height: 844 });

let minutes = 10;

/** The first call is the most urgent. */
async function submit(tool: string, args: object = { path: "/tmp" }): Promise<string> {
  const timeout = `${++minutes}m`;
  return (await server.submit(instance.token, { tool, arguments: args, timeout })).id;
}

const statusOf = async (id: string) => (await server.read(instance.token, id)).status;

beforeEach(async () => {
  const rows = await store.all("select id from request where status = 'pending'");
  for (const { id } of rows) await server.decide(scene.reviewer, String(id), "deny");
});

async function untilOpen(on: Page, tool: string): Promise<void> {
  await on.locator("#tool").getByText(tool, { exact: true }).waitFor();
}

async function untilReady(on: Page): Promise<void> {
  await on.locator("#decide[data-keys=ready] #approve:enabled").waitFor();
}

async function heldIds(): Promise<unknown[]> {
  const rows = await store.all(
    `select request_id from delayed_verdict join request on request.id = request_id
     where status = 'pending'`,
  );
  return rows.map(({ request_id: id }) => id);
}

test("[ours.console.next] on a wide window the most urgent request is open; one key approves it, and the next one opens", async () => {
  const ids = [await submit("alpha"), await submit("beta"), await submit("gamma")];
  await page.goto("/inbox");
  await untilOpen(page, "alpha");
  await untilReady(page);
  await picture(page, "triage-split");
  await page.keyboard.press("a");
  await untilOpen(page, "beta");
  await page.locator("#tool:focus").waitFor();
  assert.deepEqual(await heldIds(), [ids[0]]);
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await untilReady(page);
  await picture(page, "triage-next");
  await page.keyboard.press("d");
  await page.locator("#reason:focus").waitFor();
  await page.keyboard.type("Not today.");
  await picture(page, "triage-denying");
  await page.keyboard.press("Control+Enter");
  await untilOpen(page, "gamma");
  await page.getByRole("status").getByText("Denied beta.").waitFor();
  const { decision } = await server.read(instance.token, ids[1] ?? "");
  assert.equal(decision?.note, "Not today.");
  assert.equal(await statusOf(ids[2] ?? ""), "pending");
  await page.keyboard.press("z");
  await untilOpen(page, "alpha");
  assert.deepEqual(await heldIds(), []);
  assert.deepEqual(complaints, []);
});

test("[ours.console.next] a double click on Approve decides one request", async () => {
  const ids = [await submit("alpha"), await submit("beta")];
  await page.goto("/inbox");
  await untilOpen(page, "alpha");
  await untilReady(page);
  await page.locator("#approve").dblclick();
  await untilOpen(page, "beta");
  await untilReady(page);
  assert.deepEqual(await heldIds(), [ids[0]]);
  await page.keyboard.press("z");
  await untilOpen(page, "alpha");
});

test("[ours.console.next] with the preference to stay, the page shows the result, the next request and the way back", async () => {
  const ids = [await submit("alpha"), await submit("beta")];
  await page.goto("/settings");
  await page.getByLabel("After a decision").selectOption({ label: "Stay on the request" });
  await page.getByRole("region", { name: "This console" }).getByText("Save").click();
  await page.goto(`/inbox/${ids[0]}`);
  await untilReady(page);
  await page.locator("#deny").click();
  await page.locator("#reason").fill("No.");
  await page.locator("#send-denial").click();
  await page.locator("#outcome").getByText("Denied by you").waitFor();
  assert.equal(await page.locator("#approve, #deny").count(), 0);
  await page.locator("#next").getByText("Next: beta").waitFor();
  await picture(page, "triage-decided");
  await page.keyboard.press("n");
  await untilOpen(page, "beta");
  await page.goto("/settings");
  await page.getByLabel("After a decision").selectOption({ label: "Open the next request" });
  await page.getByRole("region", { name: "This console" }).getByText("Save").click();
});

test("[ours.console.next] a phone shows one request with bar and navigation, goes on to the next, and back to the list", async () => {
  for (const tool of ["alpha", "beta", "gamma"]) await submit(tool);
  const on = phone.page;
  await on.goto("/inbox");
  await rowOf(on, "alpha").locator(".row-link").click();
  await untilOpen(on, "alpha");
  await untilReady(on);
  await picture(on, "triage-phone");
  const bar = await on.locator("#decide").boundingBox();
  const nav = await on.getByRole("navigation", { name: "Screens" }).boundingBox();
  assert.ok(
    bar && nav && Math.abs(bar.y + bar.height - nav.y) <= 1,
    "the bar is above the navigation",
  );
  assert.ok(nav.y + nav.height <= 844, "the navigation is on the screen");
  await on.locator("#approve").click();
  await untilOpen(on, "beta");
  await untilReady(on);
  await on.getByRole("button", { name: "Undo" }).waitFor();
  await picture(on, "triage-phone-next");
  await on.locator("#deny").click();
  await on.locator("#reason").fill("No.");
  await picture(on, "triage-phone-denying");
  const send = await on.locator("#send-denial").boundingBox();
  assert.ok(send && send.y + send.height <= nav.y, "the whole button is visible");
  await on.locator("#send-denial").click();
  await untilOpen(on, "gamma");
  await assertNoSideways(on);
  await on.getByRole("navigation", { name: "Back" }).getByText("Inbox").click();
  await rowOf(on, "gamma").waitFor();
  assert.deepEqual(phone.complaints, []);
  await on.getByRole("button", { name: "Undo" }).click();
  await untilOpen(on, "alpha");
});

test("[ours.console.keys] beside the list, j and k move both, Enter reads the request and Escape returns to its row", async () => {
  for (const tool of ["alpha", "beta"]) await submit(tool);
  await page.goto("/inbox");
  await untilOpen(page, "alpha");
  await untilLive(page);
  await page.keyboard.press("j");
  await untilOpen(page, "beta");
  await page.locator(".row-link:focus").getByText("beta", { exact: true }).waitFor();
  await page.keyboard.press("k");
  await untilOpen(page, "alpha");
  await page.locator(".row-link:focus").getByText("alpha", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#tool:focus").waitFor();
  await page.keyboard.press("]");
  await untilOpen(page, "beta");
  await page.keyboard.press("Escape");
  await page.locator(".row-link:focus").getByText("beta", { exact: true }).waitFor();
  await assertAccessible(page);
});

test("[ours.console.keys] beside the list, the keys help lists each key once, with its effect there", async () => {
  await submit("alpha");
  await page.goto("/inbox");
  await untilOpen(page, "alpha");
  await untilReady(page);
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.locator("dt").first().waitFor();
  const keys = await dialog.locator("dt").allTextContents();
  assert.equal(new Set(keys).size, keys.length, keys.join(" "));
  await dialog.getByText("Clear the selection, or return to the row").waitFor();
  await page.keyboard.press("Escape");
});

test("[ours.console.badge] the icon of the tab and the badge of the app show that requests need a decision", async () => {
  const tab = await page.context().newPage();
  await tab.addInitScript(`navigator.setAppBadge = async (count) => { globalThis.badge = count; }`);
  await tab.goto("/inbox");
  await untilLive(tab);
  await tab.locator('link[rel="icon"][href*="/mark-"]:not([href*="waiting"])').waitFor({
    state: "attached",
  });
  await submit("alpha");
  await tab.locator('link[rel="icon"][href*="mark-waiting"]').waitFor({ state: "attached" });
  await tab.waitForFunction("globalThis.badge === 1");
  await tab.close();
});

test("[ours.console.bulk] twelve calls that differ in one value are one row, and three keys approve them", async () => {
  const ids: string[] = [];
  for (let n = 1; n <= 12; n++) {
    ids.push(await submit("mail", { to: `a${n}@example.com`, subject: "News", body: "Hello" }));
  }
  await page.goto("/inbox");
  await untilOpen(page, "mail");
  await untilLive(page);
  await page.locator(".row").getByText("× 12").waitFor();
  assert.equal(await page.locator(".row").count(), 1);
  await page.keyboard.press("x");
  await page.getByText("12 calls selected").waitFor();
  await page.keyboard.press("A");
  const dialog = page.getByRole("dialog", { name: "Approve 12 calls" });
  await dialog.getByText("a12@example.com").waitFor();
  await dialog.locator("button.primary:enabled").waitFor();
  await picture(page, "triage-bulk");
  await page.keyboard.press("Control+Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText("Approving 12 calls").waitFor();
  assert.equal((await heldIds()).length, 12);
  await page.keyboard.press("z");
  await page.getByText("Approving 12 calls").waitFor({ state: "detached" });
  await page.locator(".undo-bar").waitFor({ state: "detached" });
  assert.deepEqual(await heldIds(), []);
});

test("[ours.console.bulk] a bulk approval waits until the last call was on the screen", async () => {
  const ids: string[] = [];
  for (let n = 1; n <= 18; n++) {
    ids.push(await submit("mail", { to: `a${n}@example.com`, subject: "News", body: "Hello" }));
  }
  const on = phone.page;
  await on.setViewportSize({ width: 390, height: 600 });
  await on.goto("/inbox");
  await untilLive(on);
  await on.getByRole("checkbox").check();
  await on.getByRole("button", { name: "Approve…" }).click();
  const dialog = on.getByRole("dialog", { name: "Approve 18 calls" });
  await dialog.getByText("To approve, scroll to the end of the calls.").waitFor();
  assert.equal(await dialog.locator("button.primary").isDisabled(), true);
  await dialog.locator("#approve-note").scrollIntoViewIfNeeded();
  await dialog.locator("button.primary:enabled").waitFor();
  await on.keyboard.press("Escape");
  await on.setViewportSize({ width: 390, height: 844 });
});

test("[ours.console.bulk] a shift-click selects a range, shift with j extends it, and X selects all rows", async () => {
  const tools = ["one", "two", "three", "four", "five"];
  const ids: string[] = [];
  for (const tool of tools) ids.push(await submit(tool));
  await page.goto("/inbox");
  await untilOpen(page, "one");
  await untilLive(page);
  await rowOf(page, "two").getByRole("checkbox").check();
  await rowOf(page, "four")
    .getByRole("checkbox")
    .click({ modifiers: ["Shift"] });
  await page.getByText("3 calls selected").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("3 calls selected").waitFor({ state: "detached" });
  await page.keyboard.press("x");
  await page.keyboard.press("J");
  await page.getByText("2 calls selected").waitFor();
  await page.keyboard.press("X");
  await page.getByText("5 calls selected").waitFor();
  await page.keyboard.press("X");
  await page.getByText("5 calls selected").waitFor({ state: "detached" });
});

test("[ours.console.bulk] after a bulk decision of all shown rows, the top of the list is visible and says so", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 16; n++) ids.push(await submit(`rows-${n}`, { text: "x".repeat(300) }));
  const on = phone.page;
  await on.goto("/inbox?filter=rows");
  await untilLive(on);
  await on.locator(".row").nth(15).scrollIntoViewIfNeeded();
  await on.keyboard.press("X");
  await on.getByText("16 calls selected").waitFor();
  await on.keyboard.press("D");
  await on.locator("#deny-note").fill("No.");
  await on.getByRole("button", { name: "Deny 16 calls" }).click();
  await on.getByText("No pending request matches this filter.").waitFor();
  await on.getByRole("status").getByText("Denied 16 calls.").waitFor();
  const heading = await on.getByRole("heading", { name: "Inbox" }).boundingBox();
  assert.ok(heading !== null && heading.y >= 0, "the heading is on the screen");
  await on.locator("h1:focus").waitFor();
});

test("[ours.console.next] an approval without Undo is announced before the next request opens", async () => {
  const { id } = await server.submit(instance.token, { tool: "urgent", timeout: "5s" });
  await submit("later");
  await page.goto(`/inbox/${id}`);
  await untilReady(page);
  await page.locator("#approve").click();
  await page.getByRole("status").getByText("Approved urgent.").waitFor();
  await untilOpen(page, "later");
  assert.equal(await statusOf(id), "approved");
});

test("[ours.console.back] the way back from a request leads to its row, at the same place", async () => {
  for (let n = 0; n < 20; n++) await submit(`row-${n}`, { text: "x".repeat(200) });
  const on = phone.page;
  await on.goto("/inbox");
  await untilLive(on);
  const row = rowOf(on, "row-15");
  await row.scrollIntoViewIfNeeded();
  await row.locator(".row-link").click();
  await untilOpen(on, "row-15");
  await on.getByRole("navigation", { name: "Back" }).getByText("Inbox").click();
  await row.and(on.locator(".current")).waitFor();
  await row.locator(".row-link:focus").waitFor();
  const box = await row.boundingBox();
  assert.ok(box !== null && box.y >= 0 && box.y < 844, "the row is on the screen");
});

test("[ours.inbox.list] rows with and without a box are aligned, and a usual call has no mark", async () => {
  await submit("own");
  const foreign = await submit("foreign");
  await require(store, foreign, { from: [["group:elsewhere"]] });
  await page.goto("/inbox");
  await untilLive(page);
  const lefts = await Promise.all(
    ["own", "foreign"].map(
      async (tool) => (await rowOf(page, tool).locator(".tool").boundingBox())?.x,
    ),
  );
  assert.equal(lefts[0], lefts[1]);
  assert.equal(await rowOf(page, "own").locator(".risk").count(), 0);
});

for (const [width, height] of [
  [1280, 600],
  [960, 600],
  [412, 732],
  [375, 553],
] as const) {
  test(`[ours.request.deny] the whole form of a denial is on a screen of ${width}x${height}`, async () => {
    const id = await submit("deny");
    const on = phone.page;
    await on.setViewportSize({ width, height });
    await on.goto(`/inbox/${id}`);
    await on.locator("#deny:enabled").waitFor();
    await on.locator("#deny").click();
    for (const part of ["#reason", "#cancel-denial", "#send-denial"]) {
      const box = await on.locator(part).boundingBox();
      assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, `${part} is cut off`);
    }
    await on.setViewportSize({ width: 390, height: 844 });
  });
}

test("[ours.request.hold] a new approval removes the announcement of the undone one", async () => {
  const id = await submit("twice");
  await page.goto(`/inbox/${id}`);
  await untilReady(page);
  await page.keyboard.press("a");
  await page.locator("#undo").click();
  await page.getByText("Undone. Nothing is decided.").waitFor({ state: "attached" });
  await untilReady(page);
  await page.locator("#approve").click();
  await page.locator("#held").waitFor();
  await page.getByText("Undone. Nothing is decided.").waitFor({ state: "detached" });
  await page.locator("#undo").click();
});

test("[ours.request.match] the address and the links of a request do not show the characters to type", async () => {
  const id = await submit("match");
  await require(store, id, { confirm: { kind: "match" } });
  await page.goto(`/inbox/${id}`);
  await untilOpen(page, "match");
  await page.waitForURL((url) => !url.href.includes(id.slice(-4)));
  const links = await page
    .locator("a")
    .evaluateAll((all) => all.map((one) => String(one.getAttribute("href"))));
  assert.ok(!links.some((link) => link.includes(id)), links.join("\n"));
  await page.keyboard.press("x");
  await page.getByText("1 call selected").waitFor();
  assert.ok(!page.url().includes(id.slice(-4)), page.url());
  await page.keyboard.press("Escape");
  await phone.page.goto("/inbox");
  await untilLive(phone.page);
  await phone.page.keyboard.press("j");
  await phone.page.waitForURL(/at=/);
  await rowOf(phone.page, "match").and(phone.page.locator(".current")).waitFor();
  assert.ok(!phone.page.url().includes(id.slice(-4)), phone.page.url());
  await page.reload();
  await untilOpen(page, "match");
  await page.locator("#confirmation").fill(id.slice(-4));
  await untilReady(page);
  await page.locator("#approve").click();
  await page.locator("#held, .undo-bar").first().waitFor();
  assert.deepEqual(await heldIds(), [id]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("z");
});

test("[ours.request.draft] a typed reason survives a reload, and is shown when the request ends before it is sent", async () => {
  const id = await submit("draft");
  await page.goto(`/inbox/${id}`);
  await untilReady(page);
  await page.keyboard.press("d");
  await page.locator("#reason").fill("It needs a ticket first.");
  await page.reload();
  await page.locator("#reason").waitFor();
  assert.equal(await page.locator("#reason").inputValue(), "It needs a ticket first.");
  await server.decide(scene.reviewer, id, "deny");
  await page.locator("#unsent").getByText("It needs a ticket first.").waitFor();
});

test("[ours.request.question] a question is a denial, and its note asks the agent to answer and request again", async () => {
  const id = await submit("question");
  await page.goto(`/inbox/${id}`);
  await untilReady(page);
  await page.keyboard.press("d");
  await page.locator("#reason:focus").waitFor();
  await page.locator("#ask-agent").check();
  await page.getByLabel("Question to the agent").fill("Which region?");
  await picture(page, "triage-question");
  await page.keyboard.press("Control+Enter");
  await page.locator("#outcome").getByText("Denied by you").waitFor();
  const { decision } = await server.read(instance.token, id);
  assert.match(decision?.note ?? "", /^Question from the reviewer: Which region\?\nAnswer the/);
});

test("[ours.console.back] a request of the history leads back to the history with its filters", async () => {
  const id = await submit("past");
  await server.decide(scene.reviewer, id, "deny");
  await page.goto("/history?status=denied&tool=past");
  await page.locator(".list-row").filter({ hasText: "past" }).first().click();
  await untilOpen(page, "past");
  await page
    .getByRole("link", { name: "History" })
    .and(page.locator("[aria-current=page]"))
    .waitFor();
  await page.getByRole("navigation", { name: "Back" }).getByText("History").click();
  await page.waitForURL("**/history?status=denied&tool=past");
});

test("[ours.console.focus] after a link the focus is on the heading of the new screen", async () => {
  await page.goto("/inbox");
  for (const [link, heading] of [
    ["History", "History"],
    ["Policies", "Policies"],
    ["Instances", "Instances"],
    ["Settings", "Settings"],
  ] as const) {
    await page.getByRole("navigation", { name: "Screens" }).getByText(link).click();
    await page.locator("h1:focus").getByText(heading).waitFor();
  }
});

const UNREADABLE = `version: 1
rules:
  - id: large-refunds
    match: { tool: refund }
    when: args.amount > 50
    then: ask
`;

test("[ours.request.rule-errors] the page states why a rule failed", async () => {
  const editor = await server.token({ kind: "reviewer", name: "editor", role: "editor" });
  assert.equal((await publish(server, editor, UNREADABLE, 0)).status, 201);
  const { id } = await server.submit(instance.token, { tool: "refund", arguments: { order: 1 } });
  await page.goto(`/inbox/${id}`);
  await page
    .locator("#rule-errors")
    .getByText(/large-refunds: there is no field .amount./)
    .waitFor();
});
