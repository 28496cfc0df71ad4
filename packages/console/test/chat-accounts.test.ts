// Needs: browser
/** The chat accounts of a reviewer in the settings: the code, and an account to unlink. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { writeLink } from "../../server/src/storage/sql/chat/chat-links.ts";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });

for (const width of [1280, 390]) {
  test(`[ours.chat.code] the settings display a code once, and unlink an account (${width} px)`, async () => {
    const login = `ana${width}`;
    const { page, context, complaints } = await scene.member(login, { width });
    const { store } = scene.server.provider.context;
    const sql = "select id, project_id from reviewer where name = $1";
    const reviewer = await store.get(sql, [login]);
    await store.transact((tx) =>
      writeLink(tx, {
        projectId: String(reviewer?.project_id),
        id: scene.server.provider.context.random.uuid(),
        platform: "slack_app",
        user: { teamId: "T0TEAM0001", userId: `U0${width}`, name: "ana \u202Ein slack" },
        reviewerId: String(reviewer?.id),
        linkedAt: scene.clock.now(),
      }),
    );
    await page.goto("/settings");
    const panel = page.locator("section", { has: page.locator("#chat-title") });
    await panel.getByText(`U0${width} in T0TEAM0001`).waitFor();
    await panel.scrollIntoViewIfNeeded();
    await picture(page, `chat-accounts-${width}`);
    await press(page, "Create a code");
    const code = await page.locator(".secret code").innerText();
    assert.match(code, /^[2-9A-HJ-NP-Z]{10}$/);
    await picture(page, `chat-code-${width}`);
    await press(page, "Done");
    await panel.getByRole("button", { name: /^Unlink/ }).click();
    await panel.getByText("No chat accounts").waitFor();
    await untilFits(page, width);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}
