// Needs: browser
/** Two reviewers in browsers: one claims a request, the other one sees it and takes it over. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openRequest } from "./support/request-scene.ts";

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
    await press(ben.page, "Release");
    await ana.page.getByRole("button", { name: "I am reviewing it" }).waitFor();
    for (const { page, complaints, context } of [ana, ben]) {
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  });
}
