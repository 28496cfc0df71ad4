// Needs: browser
/** Two reviewers in browsers: one comments on a request, and the other one sees it live. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openRequest, pressUntil } from "./support/request-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server, instance } = scene;

for (const width of [1280, 390]) {
  test(`[ours.comment.visible] a comment appears on other pages without a reload (${width} px)`, async () => {
    const ana = await scene.member(`ana${width}`, { width });
    const ben = await scene.member(`ben${width}`, { width, role: "viewer" });
    const { id } = await server.submit(instance.token);
    await openRequest(ana.page, id);
    await openRequest(ben.page, id);
    await ben.page.getByText("No comments yet.").waitFor();
    assert.equal(await ben.page.locator("#comment").count(), 0, "a viewer has no form");
    await ana.page.locator("#comment").fill("Wait for\nthe backup.");
    await press(ana.page, "Add comment");
    const shown = ben.page.locator(".comments li");
    await shown.waitFor();
    assert.match(await shown.innerText(), new RegExp(`ana${width}[^]*Wait for\\nthe backup\\.`));
    await ben.page.getByText("1 comment", { exact: true }).waitFor();
    await ana.page.locator(".comments li").waitFor();
    assert.equal(await ana.page.locator("#comment").inputValue(), "");
    assert.equal(await ana.page.evaluate("document.activeElement.id"), "comment");
    await ana.page.locator("#comments").scrollIntoViewIfNeeded();
    await picture(ana.page, `comments-${width}`);
    await server.decide(scene.reviewer, id, "deny");
    await ana.page.locator("#outcome").waitFor();
    await ana.page.locator("#comment").fill("For the record.");
    await press(ana.page, "Add comment");
    await ben.page.getByText("2 comments").waitFor();
    await assertAccessible(ana.page);
    for (const { page, complaints, context } of [ana, ben]) {
      await untilFits(page, width);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  });
}

test("[ours.comment.visible] a comment that could not be sent keeps its text, also after a reload", async () => {
  const { page, context } = await scene.member("cy");
  const { id } = await server.submit(instance.token);
  await openRequest(page, id);
  await pressUntil(page, "c", "#comment:focus");
  await page.keyboard.type("Is this right?");
  await page.route("**/comments", (route) => route.abort());
  await page.keyboard.press("Control+Enter");
  await page.locator("#comments .fault").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "Is this right?");
  await page.unroute("**/comments");
  await page.reload();
  await page.locator("#comment").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "Is this right?");
  await page.locator("#comment").press("Control+Enter");
  await page.locator(".comments li").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "");
  await context.close();
});

test("[ours.comment.rules] a comment is stored once when its answer was lost and it is sent again after a reload", async () => {
  const { page, context } = await scene.member("dee");
  const { id } = await server.submit(instance.token);
  await openRequest(page, id);
  await page.locator("#comment").fill("Is this right?");
  await page.route("**/comments", async (route) => {
    if (route.request().method() === "POST") await route.fetch();
    await route.abort();
  });
  await page.locator("#comment").press("Control+Enter");
  await page.locator("#comments .fault").first().waitFor();
  await page.unroute("**/comments");
  await page.reload();
  await page.locator(".comments li").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "Is this right?");
  await page.locator("#comment").press("Control+Enter");
  await page.locator("#send-comment:disabled").waitFor();
  assert.equal(await page.locator("#comment").inputValue(), "");
  await page.getByText("1 comment", { exact: true }).waitFor();
  assert.equal(await page.locator(".comments li").count(), 1);
  await context.close();
});
