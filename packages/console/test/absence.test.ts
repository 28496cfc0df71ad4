// Needs: browser
/** The absence of a reviewer: set on the account page, shown to others, and ended early. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openRequest } from "./support/request-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server, instance, clock } = scene;

for (const width of [1280, 390]) {
  test(`[ours.absence.visible] a reviewer sets an absence, others see it, and it ends early (${width} px)`, async () => {
    const ana = await scene.member(`ana${width}`, { width });
    const ben = await scene.member(`ben${width}`, { width });
    const { id } = await server.submit(instance.token);
    await ana.page.goto("/settings");
    const panel = ana.page.locator("section", { has: ana.page.locator("#absence-title") });
    const zone = await ana.page.evaluate("new Date().getTimezoneOffset()");
    const local = (ms: number) =>
      new Date(clock.now() + ms - Number(zone) * 60_000).toISOString().slice(0, 16);
    await panel.getByRole("button", { name: "Set absence" }).click();
    await panel.getByRole("alert").waitFor();
    await panel.getByLabel("Absent from").fill(local(-60_000));
    await panel.getByLabel("Until").fill(local(3_600_000));
    await panel.getByLabel("Substitute").selectOption(`ben${width}`);
    await panel.getByRole("button", { name: "Set absence" }).click();
    await panel.locator("#own-absence").getByText(`ben${width} substitutes`).waitFor();
    await panel.scrollIntoViewIfNeeded();
    await picture(ana.page, `absence-own-${width}`);
    await openRequest(ben.page, id);
    await ben.page.locator("#absences").getByText(`ana${width}, away until`).waitFor();
    await picture(ben.page, `absence-request-${width}`);
    await ben.page.goto("/settings/people");
    await ben.page.getByText(`ben${width} substitutes`).first().waitFor();
    await press(ana.page, "End the absence");
    await panel.locator("#own-absence").waitFor({ state: "detached" });
    await openRequest(ben.page, id);
    assert.equal(await ben.page.locator("#absences").count(), 0);
    for (const { page, complaints, context } of [ana, ben]) {
      await untilFits(page, width);
      assert.deepEqual(complaints, []);
      await context.close();
    }
  });
}
