// Needs: browser
/**
 * The page of a request, to which messages lead, in a real browser.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { Requirement } from "../../server/src/policy/rule.ts";
import { newVisitor } from "../../server/test/support/browser.ts";
import { newSignedInPerson, picture, press, signIn } from "../../server/test/support/page-scene.ts";
import { auditOf } from "../../server/test/support/scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { startPathProxy } from "./support/path-proxy.ts";
import {
  approveOn,
  denyWith,
  submitAsked,
  untilDisabled,
  untilEnabled,
  untilGiven,
} from "./support/request-scene.ts";

const scene = await startConsoleScene({ after });
const { server, clock, instance, browser } = scene;
const { publicUrl } = server.provider;

const ana = await scene.visitor("ana");
const ben = await server.token({ kind: "reviewer", name: "ben" });

function ask(requirement: Partial<Requirement> = {}) {
  return submitAsked(scene, requirement);
}

async function read(id: string) {
  return server.read(instance.token, id);
}

function approveOf(page: Page) {
  return page.getByRole("button", { name: /^Approve/ });
}

test("[ours.inbox.signed-out] [ours.inbox.page] a link leads a signed-out user to the sign-in and then to the call, which they approve by a click", async () => {
  await newSignedInPerson(server, "pat");
  const { id } = await ask();
  const { page, context, complaints } = await newVisitor(browser, publicUrl, {
    width: 360,
    height: 740,
  });
  await page.goto(`/inbox/${id}`);
  await page.waitForURL("**/sign-in?next=*");
  await signIn(page, "pat");
  await page.waitForURL(`**/inbox/${id}`);
  await page.getByRole("heading", { name: "deploy" }).waitFor();
  await page.getByText("Production is watched.").waitFor();
  await untilEnabled(page);
  await picture(page, "request-360");
  await approveOn(scene, page);
  await page.getByText("Approved by you.").waitFor();
  await untilDisabled(page);
  await picture(page, "request-approved-360");
  assert.equal((await read(id)).status, "approved");
  await page.locator(".back a").click();
  await page.getByRole("heading", { level: 1, name: /Inbox/ }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.inbox.signed-out] for a server below a path, the browser requests only URLs below that path, also after sign-in", async () => {
  const { id } = await ask();
  const proxy = await startPathProxy({ after }, publicUrl, "/approvals/");
  const below = `${proxy}/approvals/`;
  const { page, context, complaints } = await newVisitor(browser, proxy);
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await page.goto(`${below}inbox/${id}`);
  await page.waitForURL(`${below}sign-in?next=*`);
  await signIn(page, "pat");
  await page.waitForURL(`${below}p/*/inbox/${id}`);
  await untilEnabled(page);
  await denyWith(page, "No.");
  await page.getByText("Denied by you.").waitFor();
  await page.locator(".back a").click();
  await page.waitForURL(`${below}p/*/inbox`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  assert.deepEqual(
    requested.filter((url) => !url.startsWith(below)),
    [],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.inbox.page] a denial takes its note to the agent, with the keyboard alone", async () => {
  const { id } = await ask();
  const { page, complaints } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  await page.locator("#deny").focus();
  await page.keyboard.press("Enter");
  await page.locator("#reason:focus").waitFor();
  await page.keyboard.type("Not on a Friday.");
  for (let tabs = 0; tabs < 8; tabs++) {
    await page.keyboard.press("Tab");
    if (await page.locator("#send-denial:focus-visible").count()) break;
  }
  await page.keyboard.press("Enter");
  await page.getByText("Denied by you.").waitFor();
  await page.getByText("Note: Not on a Friday.").waitFor();
  assert.equal((await read(id)).decision?.note, "Not on a Friday.");
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.page] a required confirmation is typed, and a required note is written", async () => {
  const { page, complaints } = ana;
  const typed = await ask({ confirm: { kind: "type", text: "prod" }, noteRequired: true });
  const matched = await ask({ confirm: { kind: "match" } });
  const cases = [
    [typed.id, "To approve, type exactly", "prod"],
    [matched.id, "To approve, type the last 4 characters", matched.id.slice(-4)],
  ] as const;
  for (const [id, label, text] of cases) {
    await page.goto(`/inbox/${id}`);
    await untilEnabled(page);
    await press(page, "Approve");
    await page.getByText("Must be typed to approve this call.").waitFor();
    await page.getByLabel(label).fill("else");
    if (id === typed.id) {
      await press(page, "Approve");
      await page.getByText("Enter a note to approve this call.").waitFor();
      await page.getByLabel("Note for the agent").fill("Agreed.");
    }
    await press(page, "Approve");
    await page.locator("#confirmation-fault:visible").getByText("Must be").waitFor();
    assert.equal((await read(id)).status, "pending");
    await page.getByLabel(label).fill(text);
    await approveOn(scene, page);
    await page.getByText("Approved by you.").waitFor();
  }
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.page] the page asks for the validity of an approval, and shows a fault beside its field", async () => {
  const { id } = await ask();
  const { page } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  await page.getByText("Approval expires after").click();
  await page.getByLabel("Longest time until the call starts").fill("soon");
  await press(page, "Approve");
  await page.getByText("Must be a whole number followed by s, m or h").waitFor();
  await page.getByLabel("Longest time until the call starts").fill("90s");
  await approveOn(scene, page);
  await page.getByText("Approved by you.").waitFor();
  const { decision } = await read(id);
  assert.ok(decision?.status === "approved");
  const { expires_at = "", decided_at } = decision;
  assert.equal(Date.parse(expires_at) - Date.parse(decided_at), 90_000);
});

test("[ours.inbox.now] another reviewer's decision is shown with their name, and no button remains", async () => {
  const { id } = await ask();
  const { page, complaints } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  await server.decide(ben, id, "deny", { note: "Mine." });
  await page.getByText("Denied by ben.").waitFor();
  await page.getByText("Note: Mine.").waitFor();
  await untilDisabled(page);
  await page.reload();
  await page.getByText("Denied by ben.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Deny" }).count(), 0);
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.now] at the deadline by the server's time, the buttons are disabled, for any clock of the device", async () => {
  // Earlier than the end of an idle session.
  const { id, deadline_at } = await submitAsked(scene, {}, { timeout: "10m" });
  const { page, complaints } = ana;
  // The server's clock is months behind that of the browser.
  clock.set(Date.parse(deadline_at) - 3_000);
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  clock.set(Date.parse(deadline_at) - 1);
  await page.getByText("Time is up", { exact: true }).waitFor();
  await untilDisabled(page);
  assert.equal((await read(id)).status, "pending");
  clock.advance(1);
  await page.getByText("Expired: no decision in time.").waitFor();
  await untilDisabled(page);
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.now] an insufficient approval shows the missing ones, and can be withdrawn", async () => {
  const { id } = await ask({ quorum: 2 });
  const { page, complaints } = ana;
  await page.goto(`/inbox/${id}`);
  await page.getByText("2 different reviewers").waitFor();
  await page.getByText("0 of 2 approvals").waitFor();
  await untilEnabled(page);
  await approveOn(scene, page);
  await page.getByText("Your approval is recorded. 1 more person must approve.").waitFor();
  await page.getByText("1 of 2 approvals").waitFor();
  await picture(page, "request-vote");
  // A second tap in the same place denies nothing.
  assert.equal(await approveOf(page).isDisabled(), true);
  await press(page, "Withdraw my approval");
  await page.getByText("0 of 2 approvals").waitFor();
  await untilEnabled(page);
  await approveOn(scene, page);
  await page.getByText("1 of 2 approvals").waitFor();
  await server.decide(ben, id, "approve");
  await page.getByText("Approved by ben.").waitFor();
  await page.getByRole("button", { name: "Withdraw my approval" }).waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.now] without a connection decisions are disabled; afterwards the request can be decided again", async () => {
  const { id } = await ask();
  const { page } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  await page.route("**/review/v1/requests/*", (route) => route.abort());
  await page.getByText("Connection lost.").waitFor();
  await untilDisabled(page);
  await page.unroute("**/review/v1/requests/*");
  await untilEnabled(page);
  await page.getByText("Connection lost.").waitFor({ state: "detached" });
  assert.equal((await read(id)).status, "pending");
});

test("[ours.inbox.now] a hidden page sends no requests, and cannot decide before it has reloaded", async () => {
  const { id } = await ask();
  const { page } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  const turn = (hidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event("visibilitychange"));
    `);
  await turn(true);
  await untilDisabled(page);
  await page.route("**/review/v1/requests/*", (route) => route.abort());
  await turn(false);
  await page.getByText("Connection lost.").waitFor();
  await page.unroute("**/review/v1/requests/*");
  await untilEnabled(page);
});

test("[ours.inbox.repeat] a verdict is sent again unchanged when its answer is lost, and counts once", async () => {
  const { id } = await ask();
  const { page } = ana;
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  const bodies: (string | null)[] = [];
  await page.route("**/verdict", async (route) => {
    bodies.push(route.request().postData());
    const response = await route.fetch();
    if (bodies.length === 1) await route.abort();
    else await route.fulfill({ response });
  });
  await page.getByLabel("Note for the agent").fill("once");
  await press(page, "Approve");
  await page.getByText("No answer yet.").waitFor();
  await page.locator("#alert").waitFor({ state: "hidden" });
  await untilGiven(scene, page);
  await page.getByText("Approved by you.").waitFor();
  await page.unroute("**/verdict");
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
  const kinds = (await auditOf(scene, `request:${id}`)).map(({ kind }) => kind);
  const once = ["request.opened", "request.resolved", "verdict.cast", "verdict.held"];
  assert.deepEqual(kinds.toSorted(), once);
});

test("[ours.inbox.page] a user without the power to decide sees the call, the reason and no button", async () => {
  const { id } = await ask();
  const viewer = await scene.visitor("vic", { role: "viewer" });
  await viewer.page.goto(`/inbox/${id}`);
  await viewer.page.getByRole("heading", { name: "deploy" }).waitFor();
  await viewer.page.locator("#hint:visible").waitFor();
  assert.equal(await viewer.page.locator("#approve, #deny, form").count(), 0);
  await viewer.page.goto("/inbox/none");
  await viewer.page.getByRole("alert").getByText("It belongs to another project").waitFor();
  assert.deepEqual(viewer.complaints, []);
  await viewer.context.close();
});
