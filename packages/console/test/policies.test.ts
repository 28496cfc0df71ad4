// Needs: browser
/**
 * Policies in a real browser: written, checked, tried, published and taken back.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { publish as publishAs, storePast } from "../../server/test/support/publishing.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
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

const field = page.getByRole("textbox", { name: "Policy" });
const publish = page.getByRole("button", { name: "Publish", exact: true });
const verdict = page.locator("#policy-verdict");

async function write(source: string): Promise<void> {
  const answered = page.waitForResponse(
    (response) =>
      response.url().endsWith("/check") && response.request().postDataJSON().source === source,
  );
  await field.fill(source);
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
    assert.equal(await page.locator(".bad-line").count(), 1);
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
  await publish.click();
  await page.getByText("active", { exact: true }).waitFor();
  await page.getByText("Refunds under 50").waitFor();
  assert.equal(await publish.count(), 0);

  await write(POLICY.replace("< 50", "< 60"));
  const difference = page.locator(".diff");
  await difference.getByText("when: args.amount < 60").waitFor();
  assert.deepEqual(await difference.locator(".removed").count(), 1);
});

test("[ours.console.policies.draft] a draft survives a reload, and the page reports a version that another user published", async () => {
  await page.reload();
  await page.getByRole("button", { name: "Discard my changes" }).waitFor();
  assert.match(await field.inputValue(), /< 60/);
  const { visitor } = scene;
  const other = await visitor("edo", { role: "editor" });
  await other.page.goto("/policies");
  await other.page.getByRole("textbox", { name: "Policy" }).fill(POLICY.replace("< 50", "< 20"));
  await other.page.getByRole("button", { name: "Publish", exact: true }).click();
  await other.page.getByText("Version 2").waitFor();

  await publish.click();
  await page
    .getByRole("alert")
    .getByText(/version 2/i)
    .first()
    .waitFor();
  await page.getByText("Version 2 is active, but this draft is based on version 1.").waitFor();
  await page.getByRole("button", { name: "Start from version 2" }).click();
  assert.match(await field.inputValue(), /< 20/);
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
  await page.getByText(/calls checked, 2 unchanged: 1 ask becomes approve/).waitFor();
  await page.getByText("ask → approve").waitFor();
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
  await page.getByText(/^1,?\d{3} calls checked, /).waitFor();
  const change = (id: string) => page.locator(".changes li").filter({ hasText: id });
  const failing = page.locator(".changes li").filter({ hasText: "approve → ask" });
  await failing.filter({ hasText: /small-refunds.*amount/ }).waitFor();
  await failing.filter({ hasText: /small-refunds.*more digits/ }).waitFor();
  await untilCount(failing, 2);
  await picture(page, "policies-simulated-errors");
  assert.deepEqual(await count(), before);
  for (const link of await change("stripe.refund").getByRole("link").all()) {
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
  await page.getByText("Version 4").waitFor();
  assert.match(await field.inputValue(), /< 50/);
  assert.deepEqual(complaints, []);
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
  await isPaused.promise;
  await write(POLICY.replace("< 50", "< 30"));
  isTyped.resolve();
  await page.getByText("Version 5 is active, but this draft is based on version 4.").waitFor();
  assert.match(await field.inputValue(), /< 30/);
  await page.unroute("**/review/v1/policy");
  await page.getByRole("button", { name: "Start from version 5" }).click();
  assert.match(await field.inputValue(), /< 40/);
});

test("[ours.console.policies.two-person] with two people, the author proposes and cannot publish; another reviews the difference and the simulation, and publishes or rejects", async () => {
  await write(POLICY.replace("version: 1\n", "version: 1\ntwo_person: true\n"));
  await publish.click();
  await page.getByText("Version 6", { exact: true }).waitFor();
  await publish.waitFor({ state: "detached" });

  await write(POLICY.replace("< 50", "< 70"));
  assert.equal(await publish.count(), 0);
  await page.getByText("requires two people").waitFor();
  await page.getByLabel("Reason").fill("Without the second person again");
  await page.getByRole("button", { name: "Propose", exact: true }).click();
  const mine = page.locator(".proposals > li");
  await mine.getByText("Yours").waitFor();
  await mine.getByRole("button", { name: "Review" }).click();
  await mine.getByText("Another person must publish").waitFor();
  assert.equal(await mine.getByRole("button", { name: "Publish" }).count(), 0);

  const { page: other, complaints: others } = await scene.visitor("eli", { role: "editor" });
  // Every screen notifies the users who may publish it, except its author.
  await other.goto("/history");
  await other.getByRole("link", { name: "1 proposal for you to review" }).click();
  assert.equal(await page.locator("nav .count .spoken").getByText("proposal").count(), 0);
  const waiting = other.locator(".proposals > li");
  await waiting.getByText("eda").waitFor();
  await waiting.getByRole("button", { name: "Review" }).click();
  await waiting.locator(".diff .removed").getByText("two_person: true").waitFor();
  await waiting.getByRole("button", { name: "Simulate" }).click();
  await waiting.getByText(/calls checked, /).waitFor();
  await picture(other, "policies-proposal");
  await assertAccessible(other);
  await waiting.getByRole("button", { name: "Publish", exact: true }).click();
  await other.getByText("Version 7", { exact: true }).waitFor();
  await other.getByText("written by eda").waitFor();
  assert.equal(await waiting.count(), 0);
  await other.locator("nav .count").waitFor({ state: "detached" });
  assert.deepEqual(others, []);
});

test("[ours.console.policies.read] a user without the power to publish reads the rules and has no buttons", async () => {
  const reader = await scene.visitor("rea", { role: "viewer" });
  await reader.page.goto("/policies");
  await reader.page.getByText("Your role can read this").waitFor();
  assert.ok(!(await reader.page.getByRole("textbox", { name: "Policy" }).isEditable()));
  for (const name of ["Publish", "Simulate", "Roll back to this"]) {
    assert.equal(await reader.page.getByRole("button", { name }).count(), 0);
  }
  await reader.page.setViewportSize({ width: 320, height: 700 });
  const width = await reader.page.evaluate("document.documentElement.scrollWidth");
  assert.equal(width, 320);
  await picture(reader.page, "policies-phone");
  assert.deepEqual(reader.complaints, []);
});
