// Needs: browser
/**
 * From one request to a grant or a rule for more calls like it.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Route } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openRequest } from "./support/request-scene.ts";

const scene = await startConsoleScene({ after });
const { server, instance } = scene;
const admin = await scene.visitor("ada", { role: "admin" });
const { page, complaints } = admin;

const submit = (args: object, tool = "refund") =>
  server.submit(instance.token, { tool, arguments: args, timeout: "1h" });
const statusOf = async (id: string) => (await server.read(instance.token, id)).status;

test("[ours.request.more] a grant from a request approves the next call with the kept values only", async () => {
  const { id } = await submit({ currency: "GBP", amount: 100 });
  await openRequest(page, id);
  await page.getByRole("button", { name: "Allow more like this…" }).click();
  const dialog = page.getByRole("dialog", { name: "Allow more like this" });
  await dialog.getByLabel("amount: 100").uncheck();
  await dialog.getByText('where currency is "GBP", with any value of amount').waitFor();
  await picture(page, "more-grant");
  await assertAccessible(page);
  await dialog.getByText("Create the grant").click();
  await page
    .getByRole("status")
    .getByText("Created a grant for up to 10 calls of refund.")
    .waitFor();
  await page.locator("#more:focus").waitFor();
  assert.equal((await submit({ currency: "GBP", amount: 250 })).status, "approved");
  assert.equal((await submit({ currency: "EUR", amount: 250 })).status, "pending");
  assert.equal((await submit({ currency: "GBP", amount: 1, force: true })).status, "pending");
  assert.equal(await statusOf(id), "pending", "the call itself is not decided");
  assert.deepEqual(complaints, []);
});

test("[ours.request.more] before a grant is created, it lists the past calls that it would have approved and people denied", async () => {
  const [first, second] = [await submit({ order: 1 }, "ship"), await submit({ order: 2 }, "ship")];
  await server.decide(scene.reviewer, first.id, "deny", { note: "Not this one." });
  await openRequest(page, second.id);
  await page.locator("#more").click();
  const preview = page.getByRole("dialog").locator("#grant-preview");
  await preview.getByText("No other call of the last 7 days is like this.").waitFor();
  await page.getByRole("dialog").getByLabel("order: 2").uncheck();
  const words = "In the last 7 days, it would have approved 1 call. A person denied 1 of them.";
  await preview.getByText(words).waitFor();
  await picture(page, "more-grant-preview");
  await preview.getByRole("link", { name: /^Denied call/ }).click();
  await page.waitForURL(`**/history/${first.id}`);
  assert.deepEqual(complaints, []);
});

test("[ours.request.more] a grant that is sent again after a lost answer is created once", async (t) => {
  const { page } = await scene.visitor("gus", { role: "admin" });
  t.after(() => page.context().close());
  const { id } = await submit({ order: 4 }, "refund-once");
  await openRequest(page, id);
  await page.locator("#more").click();
  const dialog = page.getByRole("dialog");
  const loseAnswer = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  await page.route("**/review/v1/grants", loseAnswer, { times: 1 });
  await dialog.getByText("Create the grant").click();
  await dialog.getByText("Could not reach the server.").waitFor();
  await dialog.getByText("Create the grant").click();
  await page.getByRole("status").getByText("Created a grant for up to 10 calls").waitFor();
  const { grants } = await page.evaluate(async () => {
    const response = await fetch("/review/v1/grants");
    return (await response.json()) as { grants: { tool: string }[] };
  });
  assert.equal(grants.filter(({ tool }) => tool === "refund-once").length, 1);
});

test("[ours.request.more] closing the dialog during a preview causes no error", async (t) => {
  const { id } = await submit({ order: 3 }, "ship");
  await openRequest(page, id);
  await page.route("**/grant-preview", () => {});
  t.after(() => page.unroute("**/grant-preview"));
  const requested = page.waitForRequest("**/grant-preview");
  await page.locator("#more").click();
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const sent = await requested;
  page.on("requestfailed", (request) => request === sent && resolve());
  await page.keyboard.press("Escape");
  await aborted;
  // The page handles the abort before it answers this.
  await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
  assert.deepEqual(complaints, []);
});

test("[ours.request.more] by keyboard, a rule with a test is simulated, published, and decides the next call", async () => {
  const { id } = await submit({ path: "/tmp/a" }, "read_file");
  await openRequest(page, id);
  await page.locator("#decide[data-keys=ready]").waitFor();
  await page.keyboard.press("m");
  const dialog = page.getByRole("dialog", { name: "Allow more like this" });
  await dialog.getByLabel("Always, by a rule of the policy").focus();
  await page.keyboard.press("Space");
  await dialog
    .locator("#more-trial")
    .getByText(/^Last 7 days: \d+ calls? checked: /)
    .waitFor();
  await picture(page, "more-rule");
  await assertAccessible(page);
  await dialog.locator("button.primary:enabled").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("Version 1 is active.").waitFor();
  await page.locator("#more:focus").waitFor();
  assert.equal((await submit({ path: "/tmp/a" }, "read_file")).status, "approved");
  assert.equal((await submit({ path: "/etc/passwd" }, "read_file")).status, "pending");

  const other = await submit({ path: "/etc/passwd" }, "read_file");
  await openRequest(page, other.id);
  await page.locator("#more").click();
  await dialog.getByLabel("Never: always deny").check();
  await dialog
    .locator("#more-trial")
    .getByText(/^Last 7 days: /)
    .waitFor();
  await dialog.getByText("Publish", { exact: true }).click();
  await page.getByRole("status").getByText("Version 2 is active.").waitFor();
  assert.equal((await submit({ path: "/etc/passwd" }, "read_file")).status, "denied");
  const more = await submit({ path: "/etc/passwd", encoding: "utf8" }, "read_file");
  assert.equal(more.status, "denied", "one more argument changes nothing");
  assert.deepEqual(complaints, []);
});

test("[ours.request.more] a stricter rule that also matches is reported instead of a rule without effect", async () => {
  const { id } = await submit({ path: "/etc/passwd" }, "read_file");
  await page.goto(`/history/${id}`);
  await page.locator("#more").click();
  const dialog = page.getByRole("dialog", { name: "Allow more like this" });
  await dialog.getByLabel("Always, by a rule of the policy").check();
  await dialog.getByRole("alert").getByText("A stricter rule matches this call too").waitFor();
  assert.equal(await dialog.locator("button.primary").isDisabled(), true);
  await dialog.getByText("Open in the editor").click();
  await page.waitForURL("**/policies");
});

test("[ours.request.more] a viewer has no such button", async () => {
  const { id } = await submit({ currency: "USD" });
  const viewer = await scene.visitor("vic", { role: "viewer" });
  await openRequest(viewer.page, id);
  assert.equal(await viewer.page.locator("#more").count(), 0);
});
