// Needs: browser
/**
 * The frame that all screens share.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { projectPath } from "../../server/test/support/test-projects.ts";
import { startConsoleScene } from "./support/console-scene.ts";

const SCREENS = ["History", "Dashboard", "Audit", "Policies", "Instances", "Settings"];

const scene = await startConsoleScene({ after });

test("a screen has a link and a URL, and its name is in the title of the tab", async () => {
  const { page, complaints } = await scene.visitor("ana", { role: "admin" });
  await page.goto("/settings");
  for (const title of SCREENS) {
    await page.getByRole("navigation").getByRole("link", { name: title }).click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    const path = await projectPath(scene.server);
    assert.equal(new URL(page.url()).pathname, `${path}/${title.toLowerCase()}`);
    assert.equal(await page.title(), `${title} · Countersign`);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
  }
  await picture(page, "console-frame");
  assert.deepEqual(complaints, []);
});
