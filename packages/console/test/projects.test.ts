// Needs: browser
/**
 * The project is in the address: tabs of one browser show different projects at the same time.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { addMembership, removeMembership } from "../../server/test/support/memberships.ts";
import { picture, press, signIn } from "../../server/test/support/page-scene.ts";
import { newPerson } from "../../server/test/support/people.ts";
import { projectIdOf } from "../../server/test/support/test-projects.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server } = scene;

let home = "";
let payments = "";
/** Token of an agent in `payments`. */
let agent = "";

before(async () => {
  home = await projectIdOf(server);
  agent = (await server.instance("payments")).token;
  payments = await projectIdOf(server, "payments");
});

/** A reviewer of `default` and of `payments`. */
async function member(login: string) {
  const visitor = await scene.member(login);
  await addMembership(server, { login, project: "payments" });
  return visitor;
}

function submit(token: string, tool: string) {
  return server.submit(token, { tool, arguments: { id: 1 } });
}

function heading(page: Page, name: string) {
  return page.getByRole("heading", { level: 1, name, exact: true });
}

function pathOf(page: Page): string {
  return new URL(page.url()).pathname;
}

test("two tabs decide in two projects at the same time", async () => {
  const { page: one, context, complaints } = await member("two-tabs");
  const [here, there] = [
    await submit(scene.instance.token, "deploy"),
    await submit(agent, "stripe.refund"),
  ];
  await one.goto(`/p/${home}/inbox/${here.id}`);
  await heading(one, "deploy").waitFor();
  const two = await context.newPage();
  await two.goto(`/p/${payments}/inbox/${there.id}`);
  await heading(two, "stripe.refund").waitFor();
  // Both tabs stay current, each with the stream of its own project.
  await submit(scene.instance.token, "deploy.again");
  await submit(agent, "stripe.again");
  for (const page of [one, two]) {
    await page.getByRole("navigation").locator(".count", { hasText: "2" }).waitFor();
  }
  await picture(one, "projects-one");
  for (const [page, token, id] of [
    [one, scene.instance.token, here.id],
    [two, agent, there.id],
  ] as const) {
    await page.bringToFront();
    await page.locator("#deny:enabled").click();
    await page.getByLabel("Reason").fill("not today");
    await press(page, "Deny this call");
    await page.locator("#outcome").waitFor();
    assert.equal((await server.read(token, id)).status, "denied");
  }
  await picture(two, "projects-two");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an address without a project gets the one that the browser used last", async () => {
  const { page, context } = await member("last-used");
  await page.goto("/history");
  await page.waitForURL(`**/p/${home}/history`);
  await page.goto(`/p/${payments}/settings`);
  await heading(page, "Settings").waitFor();
  await page.goto("/policies/floor?a=b");
  await page.waitForURL(`**/p/${payments}/policies/floor?a=b`);
  await page.goBack();
  assert.equal(pathOf(page), `/p/${payments}/settings`);
  await context.close();
});

test("an old link to a request of another project leads to its page there", async () => {
  const { id } = await submit(agent, "stripe.payout");
  const { page, context } = await member("old-link");
  await page.goto(`/inbox/${id}`);
  await page.waitForURL(`**/p/${home}/inbox/${id}`);
  await page.getByRole("link", { name: "Open in payments" }).click();
  await heading(page, "stripe.payout").waitFor();
  assert.equal(pathOf(page), `/p/${payments}/inbox/${id}`);
  await context.close();
});

test("the sign-in leads back to the address in a project", async () => {
  const { page, context } = await scene.visitor("sign-in");
  await addMembership(server, { login: "sign-in", project: "payments" });
  await page.goto("about:blank");
  await context.clearCookies();
  await page.goto(`/p/${payments}/history?status=denied`);
  await page.waitForURL("**/sign-in?next=*");
  await signIn(page, "sign-in");
  await page.waitForURL(`**/p/${payments}/history?status=denied`);
  await heading(page, "History").waitFor();
  await context.close();
});

test("the header lists the projects as links, and Escape closes the list", async () => {
  for (const [login, width, height] of [
    ["switcher", 1280, 800],
    ["phone", 390, 844],
  ] as const) {
    const { page, context } = await scene.member(login, { width, height });
    await addMembership(server, { login, project: "payments" });
    await page.goto("/inbox");
    const summary = page.locator(".projects summary");
    await summary.focus();
    await page.keyboard.press("Enter");
    const links = page.getByRole("list", { name: "Projects" }).getByRole("link");
    await untilCount(links.filter({ visible: true }), 3);
    await assertAccessible(page);
    await picture(page, `projects-${login}`);
    await page.keyboard.press("Escape");
    await untilCount(links.filter({ visible: true }), 0);
    await page.locator(".projects summary:focus").waitFor();
    await page.keyboard.press("Enter");
    await links.filter({ hasText: "payments" }).click();
    await page.waitForURL(`**/p/${payments}/inbox`);
    await summary.filter({ hasText: "payments" }).waitFor();
    await context.close();
  }
});

test("the list of projects stays open while a screen opens its first request", async () => {
  const { page, context } = await scene.member("reader", { width: 1280 });
  await addMembership(server, { login: "reader", project: "payments" });
  await submit(scene.instance.token, "deploy.first");
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/review/v1/requests?*", async (route) => {
    await isReleased;
    await route.continue();
  });
  await page.goto("/inbox");
  await page.locator(".projects summary").click();
  const links = page.getByRole("list", { name: "Projects" }).getByRole("link");
  await untilCount(links.filter({ visible: true }), 3);
  release();
  await page.waitForURL(/inbox\/./);
  await untilCount(links.filter({ visible: true }), 3);
  await context.close();
});

test("a user of one project has no list of projects", async () => {
  const { page, context } = await scene.member("only-one");
  await page.goto("/settings");
  await heading(page, "Settings").waitFor();
  assert.equal(await page.locator(".projects").count(), 0);
  await context.close();
});

test("a project of others is not found, and the own projects are offered", async () => {
  const { projectId } = await newPerson(server, { login: "eve", project: "of others" });
  const { page, context, complaints } = await member("stranger");
  for (const path of [`/p/${projectId}/settings/people`, "/p/0123456789abcdef/inbox"]) {
    await page.goto(path);
    await heading(page, "Project not found").waitFor();
    assert.equal(await page.getByText("of others").count(), 0);
  }
  await page.getByRole("main").getByRole("link", { name: "payments" }).click();
  await page.waitForURL(`**/p/${payments}/inbox`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a user who is removed from the project loses its page, and keeps the others", async () => {
  const { page, context } = await member("removed");
  await page.goto(`/p/${payments}/inbox`);
  await page.locator(".connection.live").waitFor();
  const row = await server.provider.context.store.get(
    "select id from person where login = 'removed'",
  );
  await removeMembership(server, payments, String(row?.id));
  // The server checks the permissions of a stream every 2 s.
  scene.clock.advance(2_000);
  await heading(page, "Project not found").waitFor();
  await page.getByRole("main").getByRole("link", { name: "default" }).click();
  await page.waitForURL(`**/p/${home}/inbox`);
  await page.locator(".connection.live").waitFor();
  await context.close();
});

test("an export has the requests of the project of its page", async () => {
  const { id } = await submit(agent, "stripe.export");
  await server.decide(
    await server.token({ kind: "reviewer", project: "payments", name: "bot" }),
    id,
    "deny",
    { note: "no" },
  );
  const { page, context } = await member("exports");
  await page.goto(`/p/${payments}/history?tool=stripe.export`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "CSV" }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  assert.match(Buffer.concat(chunks).toString(), new RegExp(id));
  await context.close();
});

test("all projects: what the user can approve is listed, the earliest deadline first", async () => {
  const early = await server.submit(agent, { tool: "all.early", arguments: {}, timeout: "20m" });
  const late = await server.submit(scene.instance.token, {
    tool: "all.late",
    arguments: {},
    timeout: "50m",
  });
  const foreign = await server.submit((await server.instance("of others")).token, {
    tool: "all.foreign",
  });
  const { page, context, complaints } = await member("everywhere");
  await page.goto("/all");
  await heading(page, "All projects").waitFor();
  const rows = page.locator(".all-row").filter({ hasText: /all\.(early|late|foreign)/ });
  await untilCount(rows, 2);
  assert.deepEqual(
    (await rows.evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""))).map(
      (address) => new URL(address).pathname,
    ),
    [`/p/${payments}/inbox/${early.id}`, `/p/${home}/inbox/${late.id}`],
  );
  assert.equal(await page.getByText(foreign.id).count(), 0);
  await assertAccessible(page);
  await picture(page, "projects-all");
  await server.decide(scene.reviewer, late.id, "deny", { note: "no" });
  await press(page, "Refresh");
  await untilCount(rows, 1);
  await rows.first().click();
  await heading(page, "all.early").waitFor();
  assert.equal(pathOf(page), `/p/${payments}/inbox/${early.id}`);
  assert.deepEqual(complaints, []);
  await context.close();
});
