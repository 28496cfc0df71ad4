/**
 * The inbox in a real browser.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { newVisitor, startBrowser } from "./support/browser.ts";
import { picture, signIn, visit } from "./support/page-scene.ts";
import { require } from "./support/requirements.ts";
import { end, startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance } = scene;
const browser = await startBrowser({ after });
const ana = await visit(browser, server, "ana");

test("[ours.inbox.list] an empty inbox says what happens next, a new call appears by itself and goes when it is decided", async () => {
  const { page, complaints } = ana;
  await page.goto("/inbox");
  await page.getByText("it appears here by itself").waitFor();
  await picture(page, "inbox-empty");
  const request = await server.submit(instance.token, { arguments: { env: "staging" } });
  await page.getByRole("link", { name: /deploy/ }).waitFor();
  await page.getByText('{"env":"staging"}').waitFor();
  await page.locator("#spoken").getByText("New: 1.").waitFor({ state: "attached" });
  assert.match(await page.title(), /^\(1\) Inbox/);
  await end(scene, request, "denied");
  await page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  assert.equal(await page.locator(".cards a").count(), 0);
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.list] one's own come before others', what ends first is at the top, and nobody loses their place", async () => {
  const { page, complaints } = ana;
  const { store } = server.provider.context;
  const later = await server.submit(instance.token, { tool: "later", timeout: "3h" });
  const soon = await server.submit(instance.token, { tool: "soon", timeout: "2h" });
  const other = await server.submit(instance.token, { tool: "of-others", timeout: "1h" });
  await require(store, other.id, { from: [["group:dba"]] });
  await require(store, later.id, { quorum: 2 });
  await page.setViewportSize({ width: 360, height: 300 });
  await page.goto("/inbox");
  await page.getByText("of-others").waitFor();
  const tools = () => page.locator(".cards .tool").allTextContents();
  assert.deepEqual(await tools(), ["soon", "later", "of-others"]);
  await page.getByText("0 of 2 approvals").waitFor();

  const row = page.getByRole("link", { name: /^later/ });
  await row.focus();
  await page.evaluate("scrollBy(0, 40)");
  const before = await row.boundingBox();
  await server.submit(instance.token, { tool: "first", timeout: "30m" });
  await page.getByRole("link", { name: /^first/ }).waitFor();
  assert.deepEqual(await tools(), ["first", "soon", "later", "of-others"]);
  const moved = ((await row.boundingBox())?.y ?? 0) - (before?.y ?? 0);
  assert.ok(Math.abs(moved) <= 1, `it moved ${moved} px`);
  assert.equal(await page.locator(":focus .tool").textContent(), "later");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/inbox/${later.id}`);
  await page.goBack();
  await end(scene, soon, "cancelled");
  await page.getByRole("link", { name: /^soon/ }).waitFor({ state: "detached" });
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.list] a row goes at its deadline by the server's time; a lost connection is told", async () => {
  const { page } = ana;
  const brief = await server.submit(instance.token, { tool: "brief", timeout: "10m" });
  await page.goto("/inbox");
  const row = page.getByRole("link", { name: /^brief/ });
  await row.getByText("10 min 00 s left").waitFor();
  await page.route("**/review/v1/requests?*", (route) => route.abort());
  await page.getByText("Connection lost.").waitFor();
  await page.unroute("**/review/v1/requests?*");
  await page.getByText("Connection lost.").waitFor({ state: "hidden" });
  scene.clock.set(Date.parse(brief.deadline_at) - 1);
  await row.waitFor({ state: "detached" });
});

test("[ours.inbox.signed-out] the inbox leads who is signed out to the sign-in and back", async () => {
  const { page, context } = await newVisitor(browser, server.provider.publicUrl);
  await page.goto("/inbox");
  await page.waitForURL("**/sign-in?next=inbox");
  await signIn(page, "ana");
  await page.waitForURL("**/inbox");
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await context.close();
});

test("[ours.inbox.phone] inbox and request are no wider than a phone of 320 px, and what is pressed is no smaller than 44 px", async () => {
  const args = { path: "long/".repeat(60), text: "x".repeat(4_000) };
  const long = "a".repeat(120);
  const rest = { agent_reasoning: "y".repeat(900), context: { cwd: "z".repeat(300) } };
  const request = await server.submit(instance.token, { tool: long, arguments: args, ...rest });
  const requirement = { confirm: { kind: "type", text: "w".repeat(90) } } as const;
  await require(server.provider.context.store, request.id, requirement);
  const { page } = await visit(browser, server, "kim", {
    ...{ width: 320, height: 640, colorScheme: "dark" },
  });
  for (const path of ["/inbox", `/inbox/${request.id}`]) {
    await page.goto(path, { waitUntil: "load" });
    await page.locator(".cards a, #deny").first().waitFor();
    await picture(page, `${path === "/inbox" ? "inbox" : "request"}-320-dark`);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.equal(width, 320, path);
    for (const element of await page.locator("button, input, textarea, summary, a").all()) {
      const box = await element.boundingBox();
      // What is folded away has no height.
      if (box?.height) assert.ok(box.height >= 44, `${path}: ${box.height} px`);
    }
  }
  const [deny, approve] = await Promise.all(
    ["#deny", "#approve"].map((id) => page.locator(id).boundingBox()),
  );
  assert.ok(deny && approve && approve.x - (deny.x + deny.width) >= 16, "they stand apart");
});
