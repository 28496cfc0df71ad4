// Needs: browser
/**
 * Administration without surprises: forms keep their choices, a recent sign-in is given in place,
 * and actions that cannot be undone ask first.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { SESSION_FRESH_MS } from "../../server/src/core/session.ts";
import { PASSWORD, picture } from "../../server/test/support/page-scene.ts";
import { callAs, newPerson } from "../../server/test/support/people.ts";
import { startConsoleScene } from "./support/console-scene.ts";

const scene = await startConsoleScene({ after });
const { server, clock } = scene;
const admin = await scene.visitor("ada", { role: "admin" });
const { page } = admin;

async function untilFocused(on: Page, heading: string): Promise<void> {
  await on.locator("h2:focus").getByText(heading).waitFor();
}

test("[ours.console.forms] a form keeps the default of its choices after it was sent", async () => {
  await page.goto("/settings/people");
  for (const name of ["Ben", "Cleo"]) {
    const form = page.getByRole("region", { name: "Invite a user" });
    await form.getByLabel("Name").fill(name);
    await form.getByText("Create invitation link").click();
    await page.getByRole("dialog", { name: "Invitation link" }).getByText("Done").click();
    await page.getByText(`${name}, reviewer`).waitFor();
  }
});

test("[ours.console.settings.people] by keyboard: a name and Enter create an invitation, and Enter copies its link", async () => {
  const { context } = admin;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/settings/people");
  const name = page.getByRole("region", { name: "Invite a user" }).getByLabel("Name");
  await name.focus();
  await page.keyboard.type("Fay");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Invitation link" });
  await dialog.locator("button:focus").getByText("Copy", { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await dialog.getByText("Copied").first().waitFor();
  const link = await dialog.locator("code").textContent();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), link);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.ok(await name.evaluate((field) => field.matches(":focus")));
  await page.getByText("Fay, reviewer").waitFor();
});

test("[ours.console.forms] after a channel was added, its kind and the fields still agree", async () => {
  await page.goto("/settings/channels");
  const form = page.getByRole("region", { name: "New channel" });
  await form.getByLabel("Kind").selectOption("ntfy");
  await form.getByLabel("Name").fill("pager");
  await form.getByLabel("URL").fill("https://93.184.215.14/topic");
  await form.getByText("Add channel").click();
  await page.locator(".rows strong").getByText("pager", { exact: true }).waitFor();
  assert.equal(await form.getByLabel("Kind").inputValue(), "ntfy");
  await form.getByLabel("URL").waitFor();
});

test("[ours.console.forms] half of the quiet hours is an error at its field, and a saved form says so", async () => {
  await page.goto("/settings");
  const form = page.getByRole("region", { name: "This console" });
  await form.getByLabel("Quiet hours from (optional)").fill("22:00");
  await form.getByText("Save", { exact: true }).click();
  await form.getByRole("alert").getByText("Enter both times, or leave both empty.").waitFor();
  assert.equal(await form.getByLabel("Quiet hours from (optional)").inputValue(), "22:00");
  await form.getByLabel("Until").fill("07:00");
  await form.getByText("Save", { exact: true }).click();
  await form.getByRole("status").getByText("Saved.").waitFor();
  assert.equal(await form.getByLabel("Until").inputValue(), "07:00");
});

test("[ours.console.confirm] revoking an invitation asks first, reports it, and places the focus", async () => {
  await page.goto("/settings/people");
  await page.getByRole("button", { name: "Revoke the invitation of Ben" }).click();
  const dialog = page.getByRole("dialog", { name: "Revoke the invitation of Ben?" });
  await dialog.getByText("Its link stops working.").waitFor();
  await picture(page, "administration-confirm");
  await dialog.getByText("Cancel").click();
  await page.getByText("Ben, reviewer").waitFor();
  await page.getByRole("button", { name: "Revoke the invitation of Ben" }).click();
  await dialog.getByText("Revoke invitation", { exact: true }).click();
  await page.getByRole("status").getByText("Revoked the invitation of Ben.").waitFor();
  await page.getByText("Ben, reviewer").waitFor({ state: "detached" });
  await untilFocused(page, "Invite a user");
});

test("[ours.console.confirm] the question before a freeze names the instance and its pending requests", async () => {
  const instance = await server.instance();
  await server.submit(instance.token, { tool: "one" });
  await page.goto(`/instances/${instance.id}`);
  await page.getByRole("button", { name: "Freeze", exact: true }).click();
  const name = await page.getByRole("heading", { level: 1 }).textContent();
  const dialog = page.getByRole("dialog", { name: `Freeze ${name}?` });
  await dialog.getByText("All pending (1) and new calls of").waitFor();
  await dialog.getByText("Freeze", { exact: true }).click();
  await page.getByRole("dialog", { name: "Frozen" }).getByText("Close", { exact: true }).click();
  await page.getByText("This instance is frozen.").waitFor();
  assert.equal(await page.locator(".banners").getByText("Frozen.").count(), 0, "said once");
  await page.getByRole("button", { name: "Lift the freeze" }).click();
  await page
    .getByRole("dialog", { name: "Lift the freeze?" })
    .getByRole("button", { name: "Lift the freeze" })
    .click();
  await page.getByRole("status").getByText("The freeze is lifted.").waitFor();
  await page.getByText("This instance is frozen.").waitFor({ state: "detached" });
  await page.locator("h1:focus").waitFor();
});

test("[ours.console.confirm] on a phone the first action of the instances is not a freeze", async () => {
  const operator = await scene.visitor("opal", { role: "operator", width: 390, height: 844 });
  await operator.page.goto("/instances");
  const actions = operator.page.locator(".page-head .actions").locator("a, button");
  await actions.first().waitFor();
  assert.match((await actions.first().textContent()) ?? "", /New instance/);
  assert.match((await actions.last().textContent()) ?? "", /Freeze the server/);
});

test("[ours.console.step-up] an action that needs a recent sign-in asks for it in place, and keeps what was typed", async () => {
  await page.goto("/settings/people");
  const form = page.getByRole("region", { name: "Invite a user" });
  await form.getByLabel("Name").fill("Dan");
  clock.advance(SESSION_FRESH_MS);
  await form.getByText("Create invitation link").click();
  const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
  await dialog.getByLabel("Password of ada").fill("wrong");
  await dialog.getByText("Continue with the password").click();
  await dialog.getByRole("alert").waitFor();
  await picture(page, "administration-step-up");
  await dialog.getByLabel("Password of ada").fill(PASSWORD);
  await dialog.getByText("Continue with the password").click();
  await page.getByRole("dialog", { name: "Invitation link" }).getByText("Done").click();
  await page.getByText("Dan, reviewer").waitFor();
  clock.advance(SESSION_FRESH_MS);
  await form.getByLabel("Name").fill("Eve");
  await form.getByText("Create invitation link").click();
  await dialog.getByRole("button", { name: "Close" }).click();
  await form.getByRole("alert").getByText("Sign in again").waitFor();
  assert.equal(await form.getByLabel("Name").inputValue(), "Eve");
});

test("[ours.inbox.exact] hostile characters are marked in choices as well", async () => {
  const boss = await newPerson(server, { login: "creator", role: "admin" });
  const body = { name: "a\u202eb\u200bc" };
  assert.equal((await callAs(server, boss, "POST", "/instances", { body })).status, 201);
  await page.goto("/history");
  const marked = page.locator("option").getByText(/202e/i);
  await marked.waitFor({ state: "attached" });
  const options = await page.getByLabel("Instance").locator("option").allTextContents();
  assert.ok(!/[\u202e\u200b]/.test(options.join("")), JSON.stringify(options));
});

test("[ours.console.tables] a table of names and buttons has the font of the page, in aligned rows", async () => {
  await page.goto("/settings/people");
  const cell = page.locator(".table td").first();
  await cell.waitFor();
  const fonts = await page.evaluate(`["body", ".table td"].map((place) =>
    getComputedStyle(document.querySelector(place)).fontFamily)`);
  const [body, table] = fonts as string[];
  assert.equal(table, body);
});

test("[ours.console.root] the address of the server leads a browser to the inbox, and an unknown address to a page", async () => {
  await page.goto("/");
  await page.waitForURL("**/inbox*");
  const answer = await page.goto("/no/such/page");
  assert.equal(answer?.status(), 404);
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  await page.getByRole("link", { name: "Go to the inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  for (const path of ["/", "/no/such/page"]) {
    const program = await fetch(new URL(path, server.provider.publicUrl));
    assert.equal(program.status, 404);
    assert.equal(((await program.json()) as { error: { code: string } }).error.code, "not_found");
  }
});

test("[ours.console.no-project] a person without a project sees the reason at once, and after a reload", async () => {
  const { page: own } = await scene.visitor("zoe");
  await own.goto("/inbox");
  await own.getByRole("heading", { name: "Inbox" }).waitFor();
  const boss = await newPerson(server, { login: "boss", role: "admin" });
  const { reviewers } = (
    await callAs<{ reviewers: { id: string; name: string }[] }>(server, boss, "GET", "/reviewers")
  ).json;
  const zoe = reviewers.find(({ name }) => name === "zoe");
  assert.equal((await callAs(server, boss, "DELETE", `/reviewers/${zoe?.id}`)).status, 204);
  // The stream checks the permissions of its reader from time to time.
  clock.advance(60_000);
  await own.getByText("You are not a member of any project.").waitFor();
  for (const path of ["/inbox", "/history", "/policies", "/instances"]) {
    await own.goto(path);
    await own.getByText("You are not a member of any project.").waitFor();
    assert.equal(await own.getByText("Disconnected").count(), 0);
  }
});
