// Needs: browser
/**
 * The page of a request whose rule escalates, in a real browser.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { auditOf } from "../../server/test/support/scene.ts";
import { turns, until } from "../../server/test/support/until.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { approveOn, openRequest, untilEnabled } from "./support/request-scene.ts";
import { untilFits } from "./support/waits.ts";

const MIN = 60_000;

/** Groups that the rule escalates to, with the minutes until then. */
const STEPS = [
  ["leads", 5],
  ["directors", 15],
] as const;

const scene = await startConsoleScene({ after });
const { server, clock, instance } = scene;
await enforce(
  server,
  policyOf(
    `{ id: payouts, match: { tool: deploy }, then: ask, note: Payouts leave the company.,
      ask: { from: group:payments, quorum: 2,
        escalate: [{ after: 5m, to: group:leads }, { after: 15m, to: group:directors }] } }`,
  ),
);

const STEP = /^to group (\w+) in (\d+) min (\d\d) s$/;

for (const width of [1280, 390]) {
  test(`[ours.escalate.shown] the page shows the steps, and its buttons work from the time of the step (${width} px)`, async () => {
    const group = { groups: ["leads"] };
    const { page, context, complaints } = await scene.member(`lea${width}`, { ...group, width });
    const { id } = await server.submit(instance.token);
    const openedAt = performance.now();
    await openRequest(page, id);
    await page.getByText("Only group:payments may decide this call.").first().waitFor();
    assert.equal(await page.locator("#approve:enabled").count(), 0);
    const steps = page.locator("#escalation li");
    await steps.nth(1).waitFor();
    const shown = await steps.allInnerTexts();
    const elapsedS = Math.ceil((performance.now() - openedAt) / 1000);
    assert.equal(shown.length, 2);
    for (const [index, [group, minutes]] of STEPS.entries()) {
      const [, to, min, s] = STEP.exec(shown[index] ?? "") ?? [];
      const leftS = Number(min) * 60 + Number(s);
      assert.equal(to, group);
      // The page counts down from its answer. The clock of the server is stopped.
      assert.ok(leftS <= minutes * 60 && leftS >= minutes * 60 - elapsedS, shown[index]);
    }
    await page.locator("#escalation").scrollIntoViewIfNeeded();
    await picture(page, `escalation-before-${width}`);
    await turns();
    clock.advance(5 * MIN);
    await until(async () => {
      clock.advance(0);
      return (await auditOf(scene, `request:${id}`)).some(
        ({ kind }) => kind === "request.escalated",
      );
    }, "the step is applied");
    await page.locator("#escalation .done").waitFor();
    await picture(page, `escalation-now-${width}`);
    await page.evaluate("document.getElementById('end').scrollIntoView({ block: 'center' })");
    await untilEnabled(page);
    await page.getByText("2 of group payments or group leads").first().waitFor();
    await page.locator("#timeline").getByText("Escalated: group:leads").waitFor();
    await page.locator("#escalation").scrollIntoViewIfNeeded();
    await picture(page, `escalation-after-${width}`);
    await untilFits(page, width);
    await approveOn(scene, page);
    await page.locator("#count").getByText("1 of 2 approvals").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });
}
