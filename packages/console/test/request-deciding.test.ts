// Needs: browser
/**
 * Deciding on the page of a request: keys, holds, several people, and what ends meanwhile.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { setOwner } from "../../server/test/support/requirements.ts";
import { auditOf, cancel } from "../../server/test/support/scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import {
  approveOn,
  openRequest,
  pressUntil,
  submitAsked,
  submitText,
  untilDecided,
  untilDisabled,
  untilEnabled,
} from "./support/request-scene.ts";

const scene = await startConsoleScene({ after });
const { server, clock, instance } = scene;
const { store } = server.provider.context;
const ana = await scene.visitor("ana", { width: 1280, height: 720 });
const ben = await scene.visitor("ben", { width: 360, height: 740 });

async function kindsOf(id: string): Promise<string[]> {
  return (await auditOf(scene, `request:${id}`)).map(({ kind }) => kind);
}

function statusOf(id: string): Promise<string> {
  return server.read(instance.token, id).then(({ status }) => status);
}

test("[ours.request.exact] numbers appear as they were sent, and what is copied is the stored text", async () => {
  const text = '{ "id": 9007199254740993, "x": [1.10 ,1e400], "t": "a\u202e\u200b\\u0041" }';
  const id = await submitText(scene, text);
  const { page, context } = ana;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await openRequest(page, id);
  await page.locator("#arguments").getByText("9007199254740993").waitFor();
  for (const exact of ["1.10", "1e400"]) await page.getByText(exact).first().waitFor();
  await page.getByRole("button", { name: "Copy raw" }).click();
  await page.getByText("Copied").waitFor({ state: "attached" });
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), text);
  await page.getByText("Show formatted").click();
  await page.locator("#indented").getByText('"id": 9007199254740993').waitFor();
  assert.equal(
    await page.locator("#arguments").isVisible(),
    true,
    "it takes no place of the exact",
  );
});

test("[ours.console.focus] Cancel and Escape in the form of a denial move the focus to Deny", async () => {
  const { id } = await submitAsked(scene);
  const { page } = ana;
  await openRequest(page, id);
  for (const close of ["#cancel-denial", "Escape"]) {
    await page.locator("#deny:enabled").click();
    await page.locator("#reason:focus").waitFor();
    if (close === "Escape") await page.keyboard.press(close);
    else await page.locator(close).click();
    await page.locator("#deny:focus").waitFor();
  }
});

test("[ours.request.draft] a browser that stores nothing shows no error after a verdict", async (t) => {
  const { id } = await submitAsked(scene);
  const { page } = await scene.visitor("dot");
  t.after(() => page.context().close());
  await page.addInitScript(`Object.defineProperty(globalThis, "sessionStorage", {
    get() { throw new DOMException("denied", "SecurityError"); },
  })`);
  await openRequest(page, id);
  await page.locator("#deny:enabled").click();
  await page.locator("#reason").fill("No.");
  await page.locator("#send-denial:enabled").click();
  await page.locator("#outcome").getByText("Denied by you").waitFor();
  assert.equal(await page.locator("#alert").count(), 0);
});

/** Presses `a` in the very turn in which the button appears. */
const PRESS_AT_ONCE = `new MutationObserver((_, observer) => {
  if (document.querySelector("#approve") === null) return;
  observer.disconnect();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
  window.pressed = true;
}).observe(document, { subtree: true, childList: true, attributes: true })`;

const PRESS_HELD = `document.dispatchEvent(
  new KeyboardEvent("keydown", { key: "a", bubbles: true, repeat: true }))`;

test("[ours.request.keys] a key pressed just after a change of the page, or held down, decides nothing more", async () => {
  const { id } = await submitAsked(scene);
  const { page } = await scene.visitor("kim");
  await page.addInitScript(PRESS_AT_ONCE);
  await openRequest(page, id);
  await page.locator("#decide[data-keys=ready]").waitFor();
  assert.equal(await page.evaluate("window.pressed"), true);
  await page.evaluate(PRESS_HELD);
  await page.locator("#note").focus();
  await page.keyboard.press("a");
  assert.equal(await page.locator("#note").inputValue(), "a");
  assert.deepEqual(await kindsOf(id), ["request.opened"]);
  await page.locator("#note").evaluate((field) => (field as unknown as { blur(): void }).blur());
  await pressUntil(page, "a", "#held");
  for (let times = 0; times < 5; times++) await page.keyboard.down("a");
  await page.keyboard.up("a");
  assert.deepEqual(await kindsOf(id), ["request.opened", "verdict.held"]);
  await page.context().close();
});

test("[ours.request.keys] d asks for the reason: without one nothing is sent, Escape cancels, and the agent receives it", async () => {
  const { id } = await submitAsked(scene);
  const { page, complaints } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  await pressUntil(page, "d", "#reason:focus");
  assert.equal(await page.locator("#send-denial").isDisabled(), true);
  await page.keyboard.type("   ");
  assert.equal(await page.locator("#send-denial").isDisabled(), true);
  await picture(page, "request-denying");
  await page.keyboard.press("Escape");
  await page.locator("#deny:focus").waitFor();
  await page.locator("#reason").waitFor({ state: "detached" });
  await pressUntil(page, "d", "#reason:focus");
  await page.locator("#reason").fill("Ask on Monday: d and a are letters here.");
  await page.locator("#send-denial").click();
  await page.getByText("Denied by you.").waitFor();
  await picture(page, "request-denied");
  const { decision } = await server.read(instance.token, id);
  assert.equal(decision?.note, "Ask on Monday: d and a are letters here.");
  assert.deepEqual(complaints, []);
});

test("[ours.request.hold] an approval by click or key is delayed: it can be undone, and applies also after the tab closes", async () => {
  const { id } = await submitAsked(scene);
  const cleo = await scene.visitor("cleo");
  await openRequest(cleo.page, id);
  await untilEnabled(cleo.page);
  await cleo.page.locator("#approve").click();
  await cleo.page.locator("#held").waitFor();
  await cleo.page.getByText(/^Approving in \d s$/).waitFor();
  await picture(cleo.page, "request-held");
  await cleo.page.locator("#undo:focus").waitFor();
  assert.equal(await statusOf(id), "pending");
  await cleo.page.locator("#undo").click();
  await cleo.page.locator("#held").waitFor({ state: "detached" });
  await untilEnabled(cleo.page);
  assert.equal(await statusOf(id), "pending");
  await pressUntil(cleo.page, "a", "#held");
  assert.equal(await statusOf(id), "pending");
  await cleo.context.close();
  await untilDecided(scene, id, 5_000);
  assert.equal(await statusOf(id), "approved");
});

test("[ours.request.together] two reviewers open one call: it is decided once, and the second sees the decider", async () => {
  const { id } = await submitAsked(scene);
  await Promise.all([openRequest(ana.page, id), openRequest(ben.page, id)]);
  await untilEnabled(ana.page);
  await ben.page.locator("#deny:enabled").waitFor();
  await approveOn(scene, ana.page);
  await ana.page.getByText("Approved by you.").waitFor();
  await ben.page.getByText("Approved by ana.").waitFor();
  await untilDisabled(ben.page);
  await picture(ben.page, "request-decided-elsewhere-360");
  assert.deepEqual((await kindsOf(id)).toSorted(), [
    "request.opened",
    "request.resolved",
    "verdict.cast",
    "verdict.held",
  ]);
  assert.deepEqual(ben.complaints, []);
});

test("[ours.request.match] wrong characters are rejected, and three failed attempts lock out only this reviewer", async () => {
  const { id } = await submitAsked(scene, { confirm: { kind: "match" } });
  const { page } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  assert.equal(await page.getByText(id).count(), 0, "the page does not say what is to be typed");
  for (const wrong of ["wrng", "none", "what"]) {
    await page.locator("#confirmation").fill(wrong);
    await page.locator("#approve:enabled").click();
    await page.locator("#confirmation-fault, #alert").first().waitFor();
    await page.locator("#approve:not([aria-busy=true])").waitFor();
  }
  await page.locator("#hint:visible").waitFor();
  await page.locator("#approve:disabled").waitFor();
  assert.equal(await page.locator("#deny").isDisabled(), false);
  assert.equal(await statusOf(id), "pending");
  await openRequest(ben.page, id);
  await ben.page.locator("#confirmation").fill(id.slice(-4));
  await untilEnabled(ben.page);
  await approveOn(scene, ben.page);
  await ben.page.getByText("Approved by you.").waitFor();
});

test("[ours.request.together] of a quorum of two, one vote leaves it pending, the same person counts once, and the owner may not", async () => {
  const { id } = await submitAsked(scene, { quorum: 2, excludeOwner: true });
  const olga = await scene.visitor("olga");
  await setOwner(store, instance.id, "olga");
  await openRequest(olga.page, id);
  await olga.page.getByText("The owner of the instance may not approve this call.").waitFor();
  assert.equal(await olga.page.locator("#approve").isDisabled(), true);
  await picture(olga.page, "request-owner");
  await openRequest(ana.page, id);
  await untilEnabled(ana.page);
  await approveOn(scene, ana.page);
  await ana.page.getByText("1 of 2 approvals").waitFor();
  assert.equal(await statusOf(id), "pending");
  await ana.page.reload();
  await ana.page.getByText("Your approval is recorded. 1 more person must approve.").waitFor();
  assert.equal(await ana.page.locator("#approve").isDisabled(), true);
  await openRequest(ben.page, id);
  await ben.page.locator("#votes").getByText("ana").waitFor();
  await untilEnabled(ben.page);
  await approveOn(scene, ben.page);
  await ben.page.getByText("Approved by you.").waitFor();
  await ana.page.getByText("Approved by ben.").waitFor();
  const [opened, ...rest] = await kindsOf(id);
  assert.deepEqual(
    [opened, ...rest.toSorted()],
    [
      "request.opened",
      "request.resolved",
      "verdict.cast",
      "verdict.cast",
      "verdict.held",
      "verdict.held",
      "vote.cast",
      "vote.cast",
    ],
  );
  await setOwner(store, instance.id, null);
  await olga.context.close();
});

test("[ours.request.approvers] the page names the reviewers who can approve, without the excluded owner", async (t) => {
  const from = [["reviewer:ana", "reviewer:ben"]];
  const { id } = await submitAsked(scene, { from, excludeOwner: true });
  await setOwner(store, instance.id, "ben");
  t.after(() => setOwner(store, instance.id, null));
  await openRequest(ana.page, id);
  await ana.page.getByText("Can approve: you", { exact: true }).waitFor();
  const { id: open } = await submitAsked(scene, { from });
  await openRequest(ana.page, open);
  await ana.page.getByText("Can approve: you, ben", { exact: true }).waitFor();
});

test("[ours.request.together] a call that the agent takes back while it is open cannot be decided any more", async () => {
  const { id } = await submitAsked(scene);
  const { page } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  await cancel(server, instance.token, id);
  await page.getByText("Cancelled by the agent.").waitFor();
  await untilDisabled(page);
});

test("[ours.request.background] the last approved call is compared, and a call denied before needs a note to be approved", async () => {
  const { page, complaints } = ana;
  const first = await submitText(scene, '{"amount":10.50,"to":"a"}', { tool: "pay" });
  await openRequest(page, first);
  await page.getByText("This is the first approval of this tool").waitFor();
  await untilEnabled(page);
  await approveOn(scene, page);
  await page.getByText("Approved by you.").waitFor();
  clock.advance(1_000);
  const second = await submitText(scene, '{"amount":99.00,"to":"a"}', { tool: "pay" });
  await openRequest(page, second);
  const row = page.locator("#difference tbody tr");
  await row.waitFor();
  assert.deepEqual(await row.locator("code").allTextContents(), ["amount", "10.50", "99.00"]);
  await page.locator("#similar").getByText("1 approved, 0 denied").waitFor();
  await page.locator("#timeline").getByText("Submitted").waitFor();
  await page.locator("#difference").scrollIntoViewIfNeeded();
  await picture(page, "request-difference");
  await server.decide(scene.reviewer, second, "deny", { note: "Too much." });
  clock.advance(1_000);
  const third = await submitText(scene, '{"amount":99.00,"to":"a"}', { tool: "pay" });
  await openRequest(page, third);
  await page.locator("#asked-again").getByText("Too much.").waitFor();
  await picture(page, "request-asked-again");
  await untilEnabled(page);
  await page.locator("#approve").click();
  await page.getByText("Enter a note: this call was denied before.").waitFor();
  assert.equal(await statusOf(third), "pending");
  await page.locator("#note").fill("Agreed with finance.");
  await approveOn(scene, page);
  await page.getByText("Approved by you.").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.request.decided] a decided request keeps its note, policy and expiry, also after the expiry", async () => {
  const { id } = await submitAsked(scene);
  await server.decide(scene.reviewer, id, "approve", { note: "Fine." });
  const { page } = ana;
  await openRequest(page, id);
  await page.getByText("Note: Fine.").waitFor();
  await page.locator("#expires").getByText("Valid until").waitFor();
  await page.getByText("abababab").waitFor();
  clock.advance(10 * 60_000);
  await page.reload();
  await page.locator("#expires").getByText("Approval expired").waitFor();
  assert.equal(await page.locator("#approve, #deny").count(), 0);
  await picture(page, "request-validity-passed");
  assert.equal(await statusOf(id), "approved");
});
