// Needs: browser
/** The command palette in a real browser: by keyboard, from any screen. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";

const scene = await startConsoleScene({ after });
const { page, complaints } = await scene.member("ana");
const field = page.getByRole("combobox", { name: "Screen, action, name or words of a request" });

async function open(): Promise<void> {
  await page.keyboard.press("Control+k");
  await field.waitFor();
}

test("Ctrl+K opens the palette, and Enter opens the active destination", async () => {
  await page.goto("/inbox");
  await page.getByRole("button", { name: "Go to" }).waitFor();
  await open();
  await field.fill("hist");
  await page.getByRole("option", { name: /^History/, selected: true }).waitFor();
  await assertAccessible(page);
  await picture(page, "palette");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/history");
});

test("arrow keys move the active option, and typed text leads to matching history", async () => {
  await open();
  await field.fill("in");
  await page.keyboard.press("ArrowUp");
  const active = await field.getAttribute("aria-activedescendant");
  await page.locator(`#${active}`).getByText("Tools that start with in").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/history?tool=in*");
});

test("typed words find requests by full text, and Enter opens the request", async () => {
  const asked = await scene.server.submit(scene.instance.token, {
    tool: "stripe.refund",
    arguments: { order: "A-10077" },
    timeout: "2h",
  });
  await until(async () => {
    scene.clock.advance(1_000);
    const path = "/review/v1/search?q=10077";
    return (await scene.server.call("GET", path, { token: scene.reviewer })).text.includes(
      asked.id,
    );
  }, "the request is indexed");
  await open();
  await field.fill("a-100");
  const option = page.getByRole("option", { name: /stripe\.refund: order: A-10077/ });
  await option.waitFor();
  await picture(page, "palette-requests");
  await option.click();
  await page.waitForURL(`**/inbox/${asked.id}`);
});

test("requests that are found later do not move the selected entry", async () => {
  await page.goto("/inbox");
  await page.getByRole("button", { name: "Go to" }).waitFor();
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route("**/review/v1/search?*", async (route) => {
    await promise;
    await route.continue();
  });
  await open();
  await field.fill("a-100");
  await page.keyboard.press("ArrowUp");
  const selected = page.getByRole("option", { selected: true });
  await selected.getByText("Tools that start with a-100").waitFor();
  resolve();
  await page.getByRole("option", { name: /A-10077/ }).waitFor();
  assert.equal(await selected.getByText("Tools that start with a-100").count(), 1);
  await page.unroute("**/review/v1/search?*");
  await page.keyboard.press("Escape");
});

test("people and places of actions are found, as the role allows", async () => {
  await open();
  await field.fill("sign out");
  await page.getByRole("option", { name: /Sign out/ }).waitFor();
  await field.fill("ana");
  await page.getByRole("option", { name: /^ana/ }).waitFor();
  await field.fill("invite");
  await page.getByRole("option", { name: /All requests with invite/ }).waitFor();
  assert.equal(await page.getByRole("option", { name: /Invite a person/ }).count(), 0);
  await page.keyboard.press("Escape");
  await page.goto("/history");
});

test("Escape closes the palette and returns the focus", async () => {
  const tool = page.getByLabel("Tool", { exact: true });
  await tool.focus();
  await open();
  await page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
  await tool.and(page.locator(":focus")).waitFor();
  assert.deepEqual(complaints, []);
});

test("on a phone a button opens the palette", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/inbox");
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await picture(page, "palette-phone");
  await page.getByRole("button", { name: "Go to" }).click();
  await field.waitFor();
  await assertTargets(page);
  await assertNoSideways(page);
});
