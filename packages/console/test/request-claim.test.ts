// Needs: browser
/** Two reviewers in browsers: one claims a request, the other one sees it and takes it over. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openRequest } from "./support/request-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server, instance } = scene;

for (const width of [1280, 390]) {
  test(`[ours.claim.visible] a claim appears on other pages without a reload, and can be taken over (${width} px)`, async () => {
    const ana = await scene.member(`ana${width}`, { width });
    const ben = await scene.member(`ben${width}`, { width });
    const { id } = await server.submit(instance.token);
    await openRequest(ana.page, id);
    await ben.page.goto("/inbox");
    await press(ana.page, "I am reviewing it");
    await ana.page.getByText("You are reviewing this request.").waitFor();
    await picture(ana.page, `claim-own-${width}`);
    await ben.page.getByText(`ana${width} reviews it`).waitFor();
    await picture(ben.page, `claim-inbox-${width}`);
    await openRequest(ben.page, id);
    await ben.page.getByText(`ana${width} is reviewing this request.`).waitFor();
    await picture(ben.page, `claim-other-${width}`);
    await press(ben.page, "Take over");
    await ben.page.getByText("You are reviewing this request.").waitFor();
    await ana.page.getByText(`ben${width} is reviewing this request.`).waitFor();
    await press(ben.page, "Hand over…");
    await ben.page.getByLabel("Reviewer", { exact: true }).selectOption(`ana${width}`);
    await picture(ben.page, `claim-hand-over-${width}`);
    await press(ben.page, "Hand over");
    await ana.page.getByText("You are reviewing this request.").waitFor();
    await ben.page.getByText(`ana${width} is reviewing this request.`).waitFor();
    await press(ana.page, "Release");
    await ben.page.getByRole("button", { name: "I am reviewing it" }).waitFor();
    for (const { page, complaints, context } of [ana, ben]) {
      await untilFits(page, width);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  });
}

test("[ours.claim.visible] a claim that is answered late does not move the focus out of a field, where letters are text", async () => {
  const { page, context, complaints } = await scene.member("typist");
  const { id } = await server.submit(instance.token);
  await openRequest(page, id);
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(`**/requests/${id}/claim`, async (route) => {
    await isReleased;
    await route.continue();
  });
  await page.getByRole("button", { name: "I am reviewing it" }).click();
  await page.locator("#comment").focus();
  release();
  await page.getByText("You are reviewing this request.").waitFor();
  await page.keyboard.type("add");
  assert.equal(await page.locator("#comment").inputValue(), "add");
  assert.equal((await server.read(instance.token, id)).status, "pending");
  assert.deepEqual(complaints, []);
  await context.close();
});
