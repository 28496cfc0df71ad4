// Needs: browser
/**
 * Main tasks with the keyboard alone: no click, and no focus set by the test. Each story ends with
 * the focus on a named element, and without a finding of axe. The stories of the inbox (approve,
 * deny, approve in bulk, undo) are in triage.test.ts.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { untilSealed } from "../../server/test/support/audit-logs.ts";
import { addMembership } from "../../server/test/support/memberships.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { Keyboard, untilFocusOn } from "./support/keyboard.ts";

const scene = await startConsoleScene({ after });
const { server, instance, clock } = scene;
const admin = await scene.visitor("ada", { role: "admin", width: 1280, height: 800 });
const { page, complaints } = admin;
await admin.context.grantPermissions(["clipboard-read", "clipboard-write"]);

const submit = (tool: string, args: object = { path: "/tmp/a" }, more: object = {}) =>
  server.submit(instance.token, { tool, arguments: args, timeout: "1h", ...more });
const button = (name: string | RegExp, within: Page | Locator = page) =>
  within.getByRole("button", { name });
const status = (text: string | RegExp) => page.getByRole("status").getByText(text);
const copied = () => page.evaluate<string>("navigator.clipboard.readText()");

async function open(path: string): Promise<Keyboard> {
  await page.goto(path);
  await page.locator(".connection.live").waitFor({ state: "attached" });
  return new Keyboard(page);
}

async function openRequest(id: string): Promise<Keyboard> {
  const keys = await open(`/inbox/${id}`);
  await page.locator("#tool").waitFor();
  return keys;
}

/** Where a story ends. */
async function assertEnd(name: string, target: Locator): Promise<void> {
  await untilFocusOn(page, target);
  await picture(page, `keyboard-${name}`);
  await assertAccessible(page);
  assert.deepEqual(complaints, []);
}

test("[ours.console.keyboard] with m, a request leads to a grant for more calls like it", async () => {
  const { id } = await submit("refund", { currency: "GBP", amount: 100 });
  const keys = await openRequest(id);
  await keys.pressReady("m");
  const dialog = page.getByRole("dialog", { name: "Allow more like this" });
  await keys.tabTo(dialog.getByLabel("amount: 100"));
  await keys.press("Space");
  await keys.tabTo(button("Create the grant", dialog));
  await keys.press("Enter");
  await status("Created a grant for up to 10 calls of refund.").waitFor();
  assert.equal((await submit("refund", { currency: "GBP", amount: 9 })).status, "approved");
  await assertEnd("grant", page.locator("#more"));
});

test("[ours.console.keyboard] from an open request, at most 12 keys publish a policy rule", async (t) => {
  const { id } = await submit("read_file");
  const keys = await openRequest(id);
  const startedAt = performance.now();
  await keys.pressReady("m");
  const dialog = page.getByRole("dialog", { name: "Allow more like this" });
  await keys.tabTo(dialog.getByRole("radio", { checked: true }));
  await keys.press("ArrowDown");
  await dialog
    .locator("#more-trial")
    .getByText(/^Last 7 days: /)
    .waitFor();
  await keys.tabTo(button("Publish", dialog));
  await keys.press("Enter");
  await status("Version 1 is active.").waitFor();
  t.diagnostic(`a published rule: ${keys.count} keys, ${msSince(startedAt)} ms`);
  assert.ok(keys.count <= 12, `${keys.count} keys`);
  assert.equal((await submit("read_file")).status, "approved");
  await assertEnd("rule", page.locator("#more"));
});

test("[ours.console.keyboard] c writes a comment, and Ctrl+Enter adds it", async () => {
  const { id } = await submit("comment");
  const keys = await openRequest(id);
  await keys.pressReady("c");
  await keys.type("Wait for the backup.");
  await keys.press("Control+Enter");
  await page.locator(".comments li").getByText("Wait for the backup.").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "");
  await assertEnd("comment", page.locator("#comment"));
});

test("[ours.console.keyboard] a reviewer claims a request and hands it over", async () => {
  await scene.member("ben");
  const { id } = await submit("claim");
  const keys = await openRequest(id);
  await keys.tabTo(button("I am reviewing it"));
  await keys.press("Enter");
  await page.getByText("You are reviewing this request.").waitFor();
  await untilFocusOn(page, page.locator("#tool"));
  await keys.tabTo(button("Hand over…"));
  await keys.press("Enter");
  await keys.tabTo(page.getByLabel("Reviewer", { exact: true }));
  await keys.type("ben");
  await keys.press("Tab", "Enter");
  await page.getByText("ben is reviewing this request.").waitFor();
  await untilFocusOn(page, page.locator("#tool"));
  await keys.tabTo(button("Take over"));
  await keys.press("Enter");
  await page.getByText("You are reviewing this request.").waitFor();
  await untilFocusOn(page, page.locator("#tool"));
  await keys.tabTo(button("Release"));
  await keys.press("Enter");
  await button("I am reviewing it").waitFor();
  await assertEnd("claim", page.locator("#tool"));
});

test("[ours.console.keyboard] Ctrl+K finds a request by its words, and Enter opens it", async () => {
  const { id } = await submit("stripe.refund", { order: "A-10077" });
  await until(async () => {
    clock.advance(1_000);
    const found = await server.call("GET", "/review/v1/search?q=10077", { token: scene.reviewer });
    return found.text.includes(id);
  }, "the request is indexed");
  const keys = await open("/history");
  await keys.press("Control+k");
  await untilFocusOn(page, page.getByRole("combobox"));
  await keys.type("a-10077");
  const option = page.getByRole("option", { name: /stripe\.refund: order: A-10077/ });
  await option.waitFor();
  const chosen = page.getByRole("option", { name: /A-10077/, selected: true });
  for (let presses = 0; presses < 20 && (await chosen.and(option).count()) === 0; presses++) {
    await keys.press("ArrowDown");
  }
  await keys.press("Enter");
  await page.waitForURL(`**/inbox/${id}`);
  await page.locator("#tool").getByText("stripe.refund").waitFor();
  await assertEnd("palette", page.locator("#main h1:focus"));
});

test("[ours.console.keyboard] an instance is created, and the text that connects it copied", async () => {
  const keys = await open("/instances");
  await keys.tabTo(page.getByRole("link", { name: "New instance" }));
  await keys.press("Enter");
  await page.waitForURL("**/instances/new");
  await keys.tabTo(page.getByLabel("Name (optional)"));
  await keys.type("crawler");
  await keys.tabTo(button("Create instance"));
  await keys.press("Enter");
  const heading = page.getByRole("heading", { name: "Instance created" });
  await untilFocusOn(page, heading);
  await keys.tabTo(page.getByLabel("Agent"));
  await keys.press("ArrowDown");
  const snippet = page.locator(".snippet").nth(1);
  const copy = button(/^Copy /, snippet);
  await keys.tabTo(copy);
  await keys.press("Enter");
  await copy.getByText("Copied").waitFor({ state: "attached" });
  assert.equal(await copied(), await snippet.locator("pre").textContent());
  await assertEnd("instance", copy);
});

test("[ours.console.keyboard] from the screen of the people, at most 50 keys copy an invitation link", async (t) => {
  const keys = await open("/settings/people");
  const startedAt = performance.now();
  const name = page.getByRole("region", { name: "Invite a user" }).getByLabel("Name");
  await keys.tabTo(name);
  await keys.type("Fay");
  await keys.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Invitation link" });
  await untilFocusOn(page, button("Copy link", dialog));
  await keys.press("Enter");
  await dialog.getByText("Copied").first().waitFor();
  t.diagnostic(`a copied invitation link: ${keys.count} keys, ${msSince(startedAt)} ms`);
  assert.ok(keys.count <= 50, `${keys.count} keys`);
  assert.equal(await copied(), await dialog.locator("code").textContent());
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await assertEnd("invitation", name);
});

test("[ours.console.keyboard] a token is created and copied", async () => {
  const keys = await open("/settings/tokens");
  const form = page.getByRole("region", { name: "New token" });
  const name = form.getByLabel("Bot name (optional)");
  await keys.tabTo(name);
  await keys.type("deployer");
  await keys.press("Enter");
  const dialog = page.getByRole("dialog", { name: "The token" });
  await untilFocusOn(page, button("Copy token", dialog));
  await keys.press("Enter");
  await dialog.getByText("Copied").first().waitFor();
  const token = await copied();
  assert.equal((await server.call("GET", "/review/v1/requests", { token })).status, 200);
  await keys.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await assertEnd("token", name);
});

test("[ours.console.keyboard] the audit log is verified", async () => {
  await untilSealed(scene);
  const keys = await open("/audit");
  const verify = button("Verify the log");
  await keys.tabTo(verify);
  await keys.press("Enter");
  await page.getByText(/sealed entries are intact/).waitFor();
  await assertEnd("audit", verify);
});

test("[ours.console.keyboard] a request leads to the timeline of its session, and back", async () => {
  const context = { context: { session_id: "one" } };
  await submit("first", {}, context);
  const { id } = await submit("second", {}, context);
  const keys = await openRequest(id);
  await keys.tabTo(page.getByRole("link", { name: "All calls of this session" }));
  await keys.press("Enter");
  const heading = page.getByRole("heading", { name: "Session", exact: true });
  await page.getByRole("heading", { name: "2 calls" }).waitFor();
  await assertEnd("session", heading);
  await keys.tabTo(page.getByRole("link", { name: "Request", exact: true }));
  await keys.press("Enter");
  await page.locator("#tool").getByText("second").waitFor();
  await untilFocusOn(page, page.locator(".row-link", { hasText: "second" }));
});

test("[ours.console.keyboard] the theme is changed in the settings", async () => {
  const keys = await open("/settings");
  const region = page.getByRole("region", { name: "This console" });
  await keys.tabTo(region.getByLabel("Theme"));
  await keys.type("Dark");
  const save = button("Save", region);
  await keys.tabTo(save);
  await keys.press("Enter");
  await page.locator(":root[data-theme=dark]").waitFor();
  await region.getByText("Saved.").waitFor();
  await assertEnd("theme", save);
});

test("[ours.console.keyboard] the header leads to another project", async () => {
  await server.instance("payments");
  await addMembership(server, { login: "ada", project: "payments" });
  const keys = await open("/history");
  const projects = page.locator(".projects summary");
  await keys.tabTo(projects);
  await keys.press("Enter");
  const links = page.getByRole("list", { name: "Projects" }).getByRole("link");
  await keys.tabTo(links.filter({ hasText: "payments" }));
  await keys.press("Enter");
  await page.waitForURL("**/p/*/inbox");
  await projects.filter({ hasText: "payments" }).waitFor();
  await keys.press("Tab");
  await assertEnd("project", page.getByRole("link", { name: /^Skip to / }));
});

function msSince(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}
