// Needs: browser
/**
 * Policies in a real browser: written, checked, tried, published and taken back.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { publish as publishAs, storePast } from "../../server/test/support/publishing.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { fillPolicy, policyField, policyText } from "./support/policy-editor.ts";
import { submitText } from "./support/request-scene.ts";
import { untilCount } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server, instance } = scene;
const { page, complaints } = await scene.visitor("eda", { role: "editor" });

const POLICY = `version: 1
rules:
  - id: small-refunds
    match: { tool: stripe.refund }
    when: args.amount < 50
    then: approve
tests:
  - name: a small refund
    given: { tool: stripe.refund, args: { amount: 10 } }
    expect: { then: approve, because: small-refunds }
`;

const field = policyField(page);
const publish = page.getByRole("button", { name: "Publish", exact: true });
const questions = page.getByRole("dialog");
const outcome = page.locator(".outcome");
const verdict = page.locator("#policy-verdict");

/** Answers the question that a page has open. */
async function confirm(at: Page, name: string): Promise<void> {
  await at.getByRole("dialog").getByRole("button", { name, exact: true }).click();
}

async function publishDraft(): Promise<void> {
  await publish.click();
  await confirm(page, "Publish");
}

async function write(source: string): Promise<void> {
  const answered = page.waitForResponse(
    (response) =>
      response.url().endsWith("/check") && response.request().postDataJSON().source === source,
  );
  await fillPolicy(page, source);
  await answered;
  await page.locator(".policy-verdict[aria-busy=false]").waitFor();
}

test("[ours.console.policies.check] an error is shown with its line while typing, and blocks publishing", async () => {
  await page.goto("/policies");
  await field.waitFor();
  for (const [when, reason] of [
    ['tol.startsWith("x")', /tol/],
    ["tool < 5", /string|<|overload/],
    ['matches(tool, "x")', /matches/],
  ] as const) {
    await write(POLICY.replace("args.amount < 50", when));
    await verdict.getByText(/to publish/).waitFor();
    const fault = page.getByRole("region", { name: "Errors" }).getByRole("listitem").first();
    assert.match((await fault.textContent()) ?? "", reason);
    assert.ok(await publish.isDisabled());
    await fault.getByRole("button", { name: "Line 5" }).click();
    assert.equal(await page.locator(".cm-lint-marker-error").count(), 1);
  }
  await picture(page, "policies-fault");
});

test("[ours.console.policies.publish] a test that fails keeps a draft from being published, one that passes lets it, and the difference is shown", async () => {
  await write(POLICY.replace("amount: 10", "amount: 90"));
  await page.getByRole("region", { name: "Tests" }).getByText("expected").waitFor();
  assert.ok(await publish.isDisabled());

  await write(POLICY);
  await verdict.getByText("1 rule, 1 of 1 tests pass.").waitFor();
  await page.getByLabel("Reason").fill("Refunds under 50");
  await picture(page, "policies-draft");
  await publishDraft();
  await page.getByText("active", { exact: true }).waitFor();
  await page.getByText("Refunds under 50").waitFor();
  await publish.waitFor({ state: "detached" });

  await write(POLICY.replace("< 50", "< 60"));
  const difference = page.locator(".diff");
  await difference.getByText("when: args.amount < 60").waitFor();
  assert.deepEqual(await difference.locator(".removed").count(), 1);
});

test("[ours.console.policies.draft] a draft survives a reload, and the page reports a version that another user published", async () => {
  await page.reload();
  await page.getByRole("button", { name: "Discard my changes" }).waitFor();
  assert.match(await policyText(page), /< 60/);
  const { visitor } = scene;
  const other = await visitor("edo", { role: "editor" });
  await other.page.goto("/policies");
  await policyField(other.page).waitFor();
  await fillPolicy(other.page, POLICY.replace("< 50", "< 20"));
  await other.page.getByRole("button", { name: "Publish", exact: true }).click();
  await confirm(other.page, "Publish");
  await other.page.getByText("Version 2 is active.").waitFor();

  await publishDraft();
  await page.getByText("Version 2 is active, but this draft is based on version 1.").waitFor();
  await page.getByRole("button", { name: "Start from version 2" }).click();
  assert.match(await policyText(page), /< 20/);
});

test("[ours.console.policies.simulate] the simulation lists changed calls, each can be opened, and a missing field or a long integer asks", async () => {
  const calls: readonly object[] = [{ amount: 30 }, { currency: "EUR" }];
  for (const args of calls) {
    await server.submit(instance.token, { tool: "stripe.refund", arguments: args });
  }
  const tooLong = JSON.parse(`{"amount":12345678901234567890}`);
  await server.submit(instance.token, { tool: "stripe.refund", arguments: tooLong });
  await write(POLICY);
  await page.getByRole("button", { name: "Simulate" }).click();
  assert.equal(
    await page.getByText(/calls checked: /).textContent(),
    "3 calls checked: 1 changes from ask to approve, 2 unchanged. 1 hit a rule error.",
  );
  const group = page.locator(".changes > li");
  await group.getByText("ask to approve, 1 call").click();
  await group.getByRole("button", { name: "Show arguments" }).click();
  await group.getByText('{"amount":30}').waitFor();
  await picture(page, "policies-simulated");
  await assertAccessible(page);
  const changed = page.locator(".changes a");
  assert.equal(await changed.count(), 1);
  assert.match((await changed.getAttribute("href")) ?? "", /\/inbox\/[0-9a-f-]{36}$/);
});

const OPEN = `version: 1
rules:
  - id: all-refunds
    match: { tool: stripe.refund }
    then: approve
`;

test("[ours.console.policies.simulate] a draft over a thousand calls lists the changes and the failing rule, and writes nothing", async () => {
  const { store } = server.provider.context;
  await storePast(server, instance.id, 1_000);
  const editor = await server.token({ kind: "reviewer", name: "ed", role: "editor" });
  assert.equal((await publishAs(server, editor, OPEN, 2)).status, 201);
  // The nearest double of the last amount is 50, so the condition of the draft is uncertain.
  for (const args of ["{}", '{"amount":10}', '{"amount":49.99999999999999999999}']) {
    const id = await submitText(scene, args, { tool: "stripe.refund" });
    assert.equal((await server.read(instance.token, id)).status, "approved");
  }
  const count = async () => {
    const tables = ["request", "vote", "audit_entry", "policy_version", "notification"];
    const counts = tables.map((table) => store.get(`select count(*) as n from ${table}`));
    return (await Promise.all(counts)).map((row) => Number(row?.n));
  };
  await page.reload();
  await write(POLICY);
  const before = await count();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByText(/^1,?\d{3} calls checked: /).waitFor();
  const group = page.locator(".changes > li").filter({ hasText: "approve to ask" });
  await group.locator("summary").click();
  const failing = group.locator(".changed-calls > li");
  await failing.filter({ hasText: /small-refunds.*amount/ }).waitFor();
  await failing.filter({ hasText: /small-refunds.*more digits/ }).waitFor();
  await untilCount(failing, 2);
  await picture(page, "policies-simulated-errors");
  assert.deepEqual(await count(), before);
  for (const link of await failing.getByRole("link").all()) {
    assert.match((await link.getAttribute("href")) ?? "", /\/inbox\/[0-9a-f-]{36}$/);
  }
  await failing.first().getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "stripe.refund" }).waitFor();
  await page.goBack();
  await field.waitFor();
});

test("[ours.console.policies.rollback] an earlier version is compared and published again with one click", async () => {
  await page.getByRole("button", { name: "Discard my changes" }).click();
  const first = page.locator(".versions > li").filter({ hasText: "Version 1" });
  await first.getByRole("button", { name: "Compare" }).click();
  await first.locator(".diff .removed").first().waitFor();
  await picture(page, "policies-versions");
  await first.getByRole("button", { name: "Roll back to this" }).click();
  await questions.getByRole("heading", { name: "Roll back to version 1?" }).waitFor();
  await questions.getByText("Version 4 replaces version 3 with this text.").waitFor();
  await questions.locator(".diff .added").first().waitFor();
  await picture(page, "policies-roll-back");
  await confirm(page, "Roll back");
  await outcome.getByText("Version 4 is active. It has the text of version 1.").waitFor();
  assert.match(await policyText(page), /< 50/);
  assert.deepEqual(complaints, []);
});

test("[ours.console.policies.publish] publishing asks with the version and the difference, says what is active with the focus on it, and Undo brings the former version back", async () => {
  await write(POLICY.replace("< 50", "< 45"));
  await publish.click();
  await questions.getByRole("heading", { name: "Publish version 5?" }).waitFor();
  await questions.getByText("It replaces version 4").waitFor();
  await questions.getByText("1 line added, 1 line removed.").waitFor();
  await questions.locator(".diff .added").getByText("< 45").waitFor();
  await picture(page, "policies-publish");
  await questions.getByRole("button", { name: "Cancel" }).click();
  await outcome.getByText("Version 4 is active.").waitFor();
  await publish.and(page.locator(":focus")).waitFor();

  await publishDraft();
  await outcome.getByText("Version 5 is active.").waitFor();
  await outcome.and(page.locator(":focus")).waitFor();
  await picture(page, "policies-published");
  await outcome.getByRole("button", { name: "Undo" }).click();
  await outcome.getByText("Version 6 is active. It has the text of version 4.").waitFor();
  await outcome.and(page.locator(":focus")).waitFor();
  await page.locator(".versions > li").filter({ hasText: "Version 6" }).waitFor();
  assert.match(await policyText(page), /< 50/);
});

test("[ours.console.policies.read] no heading of the screen skips a level", async () => {
  const levels = await page
    .locator("h1, h2, h3, h4")
    .evaluateAll((all) => all.map(({ tagName }) => Number(tagName.slice(1))));
  const skips = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);
  assert.deepEqual(skips, [], levels.join(" "));
});

test("[ours.console.policies.publish] text typed while a draft is being published is kept", async () => {
  await write(POLICY.replace("< 50", "< 40"));
  const isTyped = Promise.withResolvers<void>();
  const isPaused = Promise.withResolvers<void>();
  await page.route("**/review/v1/policy", async (route) => {
    if (route.request().method() === "POST") {
      isPaused.resolve();
      await isTyped.promise;
    }
    await route.continue();
  });
  await publish.click();
  await confirm(page, "Publish");
  await isPaused.promise;
  // The question can be closed while the server works.
  await page.keyboard.press("Escape");
  await write(POLICY.replace("< 50", "< 30"));
  isTyped.resolve();
  await page.getByText("Version 7 is active, but this draft is based on version 6.").waitFor();
  assert.match(await policyText(page), /< 30/);
  await page.unroute("**/review/v1/policy");
  await page.getByRole("button", { name: "Start from version 7" }).click();
  assert.match(await policyText(page), /< 40/);
});

test("[ours.console.policies.two-person] with two people, the author proposes and cannot publish; another reviews the difference and the simulation, and publishes or rejects", async () => {
  await write(POLICY.replace("version: 1\n", "version: 1\ntwo_person: true\n"));
  await publishDraft();
  await page.getByText("Version 8", { exact: true }).waitFor();
  await outcome.getByText("Version 8 is active.").waitFor();
  // The way back needs a second person.
  assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0);
  await publish.waitFor({ state: "detached" });

  await write(POLICY.replace("< 50", "< 70"));
  await publish.waitFor({ state: "detached" });
  await page.getByText("requires two people").waitFor();
  await page.getByLabel("Reason").fill("Without the second person again");
  await page.getByRole("button", { name: "Propose", exact: true }).click();
  await outcome.getByText("Proposed. Another person must publish it.").waitFor();
  const mine = page.locator(".proposals > li");
  await mine.getByText("Yours").waitFor();
  await mine.getByRole("button", { name: "Review" }).click();
  await mine.getByText("Another person must publish").waitFor();
  assert.equal(await mine.getByRole("button", { name: "Publish" }).count(), 0);

  const { page: other, complaints: others } = await scene.visitor("eli", { role: "editor" });
  // Every screen notifies the users who may publish it, except its author.
  await other.goto("/history");
  await other.getByRole("link", { name: "1 proposal for you to review" }).click();
  await page.locator("nav .count .spoken").getByText("proposal").waitFor({ state: "detached" });
  const waiting = other.locator(".proposals > li");
  await waiting.getByText("eda").waitFor();
  await waiting.getByRole("button", { name: "Review" }).click();
  await waiting.locator(".diff .removed").getByText("two_person: true").waitFor();
  await waiting.getByRole("button", { name: "Simulate" }).click();
  await waiting.getByText(/calls checked: /).waitFor();
  await picture(other, "policies-proposal");
  await assertAccessible(other);
  await waiting.getByRole("button", { name: "Publish", exact: true }).click();
  await confirm(other, "Publish");
  await other.getByText("Version 9", { exact: true }).waitFor();
  await other.getByText("Version 9 is active.").waitFor();
  await other.getByText("written by eda").waitFor();
  await waiting.waitFor({ state: "detached" });
  await other.locator("nav .count").waitFor({ state: "detached" });
  assert.deepEqual(others, []);
});

test("[ours.console.policies.read] a user without the power to publish reads the rules and has no buttons", async () => {
  const reader = await scene.visitor("rea", { role: "viewer" });
  await reader.page.goto("/policies");
  await reader.page.getByText("Your role can read this").waitFor();
  assert.ok(!(await policyField(reader.page).isEditable()));
  for (const name of ["Publish", "Simulate", "Roll back to this"]) {
    assert.equal(await reader.page.getByRole("button", { name }).count(), 0);
  }
  await reader.page.setViewportSize({ width: 320, height: 700 });
  const width = await reader.page.evaluate("document.documentElement.scrollWidth");
  assert.equal(width, 320);
  await picture(reader.page, "policies-phone");
  assert.deepEqual(reader.complaints, []);
});
