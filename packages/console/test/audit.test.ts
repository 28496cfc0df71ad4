// Needs: browser
/**
 * The audit log in a real browser: entries in words, their exact text, verifying and proving.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { logOf, tamper, untilSealed } from "../../server/test/support/audit-logs.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

const HOSTILE = `<b>boss</b>\u202Egnp\u200B${"w".repeat(80)}`;

const scene = await startConsoleScene({ after });
const { server, instance, reviewer } = scene;
const { page, complaints } = await scene.member("ana", { role: "auditor" });

const entries = page.getByRole("list", { name: "Entries" }).getByRole("button");
const entry = (words: string) => entries.filter({ hasText: words });

before(async () => {
  const approved = await server.submit(instance.token);
  await server.decide(reviewer, approved.id, "approve");
  const denied = await server.submit(instance.token, { tool: HOSTILE });
  await server.decide(reviewer, denied.id, "deny", { note: "No." });
  await server.token({ kind: "reviewer", name: HOSTILE });
  const frozen = await server.call("POST", "/review/v1/freezes", {
    token: reviewer,
    body: { scope: "instance", instance_id: instance.id, note: "Leaked key." },
  });
  assert.equal(frozen.status, 201, frozen.text);
  await untilSealed(scene);
});

test("entries describe the event, its actor, its subject and its time in words", async () => {
  await page.goto("/audit");
  await entry("A request was approved").filter({ hasText: "by reviewer" }).waitFor();
  await entry("A request was denied").waitFor();
  await entry("An instance was frozen").waitFor();
  await entry("A call was submitted").first().waitFor();
  await picture(page, "audit-desktop-light");
  await assertAccessible(page);
  await picture(page, "audit-desktop-dark");
  assert.deepEqual(complaints, []);
});

test("filters narrow the entries and are in the address", async () => {
  await page.goto("/audit");
  await page.getByLabel("What", { exact: true }).selectOption("request.resolved");
  await untilCount(entries, 2);
  assert.equal(new URL(page.url()).search, "?kind=request.resolved");
  await page.reload();
  await untilCount(entries, 2);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("Who", { exact: true }).selectOption({ label: "reviewer" });
  await untilCount(entries, 3);
  await page.goto(`/audit?subject=instance:${instance.id}`);
  await entry("An instance was created").waitFor();
  await page.goto("/audit?from=2001-01-01&to=2001-01-02");
  await page.getByText("No matching entries").waitFor();
});

test("an entry opens by keyboard, with the exact text that is sealed and its proof", async () => {
  await page.goto("/audit?kind=request.resolved");
  await untilCount(entries, 2);
  const denied = entry("A request was denied");
  await denied.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "A request was denied" });
  await dialog.waitFor();
  const { text } = await server.call("GET", "/review/v1/audit/entries?kind=request.resolved", {
    token: await server.token({ kind: "reviewer", name: "auditor", role: "auditor" }),
  });
  const detail = (await dialog.locator("pre").textContent()) ?? "";
  assert.ok(detail.startsWith("{") && text.includes(`"detail":${detail}}`), detail);
  await assertAccessible(page);
  await picture(page, "audit-entry");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Download proof" }).click(),
  ]);
  assert.match(readFileSync(await download.path(), "utf8"), /^\{"checkpoint":.*"proof":\[/);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  const isBack = await denied.evaluate((row) => row.matches(":focus"));
  assert.ok(isBack, "the focus is where it was");
});

test("the focus stays in a dialog", async () => {
  await page.goto("/audit?kind=request.resolved");
  await entries.first().click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press("Tab");
    const isOutside =
      "document.activeElement.closest('main') !== null && " +
      "document.activeElement.closest('dialog') === null";
    assert.equal(await page.evaluate(isOutside), false);
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("the downloaded checkpoint and key equal those of the server", async () => {
  await page.goto("/audit");
  const take = async (name: string) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name, exact: true }).click(),
    ]);
    return {
      name: download.suggestedFilename(),
      text: readFileSync(await download.path(), "utf8"),
    };
  };
  const checkpoint = await take("Checkpoint");
  assert.equal(checkpoint.name, "checkpoint.txt");
  assert.match(checkpoint.text, /^countersign\/audit\/[^\n]+\n\d+\n[^\n]+\n\n— /);
  const key = await take("Public key");
  assert.equal(key.name, "log.key");
  assert.match(key.text, /^countersign\/audit\/[^+]+\+[0-9a-f]{8}\+\S+\n$/);
});

test("verifying reports a correct log, or the first altered entry", async () => {
  await page.goto("/audit");
  const verify = page.getByRole("button", { name: "Verify the log" });
  await verify.click();
  await page.getByText(/^Good\. All \d+ sealed entries are intact\./).waitFor();
  const { projectId } = await logOf(scene);
  const rows = await server.provider.context.store.all(
    "select id, actor from audit_entry where project_id = $1 order by id",
    [projectId],
  );
  const [first, second] = [rows[2], rows[4]];
  const change = "update audit_entry set actor = $1 where id = $2";
  for (const row of [first, second]) await tamper(scene, change, "reviewer:eve", row?.id ?? null);
  try {
    await verify.click();
    const alert = page.locator(".alert").filter({ hasText: "The first altered entry: position" });
    await alert.waitFor();
    const text = (await alert.textContent()) ?? "";
    assert.ok(text.includes(String(first?.id)) && !text.includes(String(second?.id)), text);
    await picture(page, "audit-bad");
    await assertAccessible(page);
  } finally {
    for (const row of [first, second]) {
      await tamper(scene, change, row?.actor ?? null, row?.id ?? null);
    }
  }
});

test("on a phone nothing scrolls sideways, and names are displayed as text", async () => {
  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 740 });
    // Of a longer list not everything is in the page so far below what can be seen.
    await page.goto("/audit?kind=request.resolved");
    await entry("A request was approved").waitFor();
    await assertNoSideways(page);
    await assertTargets(page);
    await picture(page, `audit-phone-${width}`);
    await page.goto("/audit?kind=credential.issued");
    await entries.first().click();
    await page.getByRole("dialog").waitFor();
    await assertNoSideways(page);
    await picture(page, `audit-entry-phone-${width}`);
    await page.keyboard.press("Escape");
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(complaints, []);
});

test("without permission, there is no link to the log, and its page shows the reason", async () => {
  for (const role of ["viewer", "reviewer", "editor"] as const) {
    const other = await scene.member(role, { role });
    await other.page.goto("/audit");
    await other.page.getByText("The audit log is for auditors and admins").waitFor();
    const link = other.page.getByRole("navigation").getByRole("link", { name: "Audit" });
    await untilCount(link, 0);
    await other.context.close();
  }
  const admin = await scene.member("admin", { role: "admin" });
  await admin.page.goto("/history");
  await admin.page.getByRole("navigation").getByRole("link", { name: "Audit" }).click();
  await admin.page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await untilCount(admin.page.getByLabel("Log", { exact: true }), 0);
  await admin.context.close();
  const operator = await scene.member("operator", { role: "operator" });
  await operator.page.goto("/audit?log=server");
  await operator.page
    .getByRole("list", { name: "Entries" })
    .getByRole("button", { name: /A user signed in/ })
    .first()
    .waitFor();
  await operator.context.close();
});
