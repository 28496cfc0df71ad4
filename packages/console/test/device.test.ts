// Needs: browser
/**
 * The console as an app on a device: installed, and without a connection.
 *
 * Every call to a worker or to the browser's debugger has a time limit here: they have none.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { submitText, untilEnabled } from "./support/request-scene.ts";
import { untilInstalled } from "./support/service-worker.ts";
import { answered } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server } = scene;

test("[ours.console.app] it can be installed: a manifest with icons that are there, and a worker at its root", async () => {
  const { page, context, complaints } = await scene.visitor("ina");
  await page.goto("/settings");
  await untilInstalled(page, context);
  const cdp = await context.newCDPSession(page);
  const { errors, data = "" } = await answered(cdp.send("Page.getAppManifest"), "the manifest");
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(data) as { icons: readonly { src: string }[]; start_url: string };
  assert.equal(manifest.start_url, "./inbox");
  for (const { src } of manifest.icons) {
    const { status, headers } = await fetch(new URL(src, server.url));
    assert.deepEqual([status, headers.get("content-type")], [200, "image/png"]);
  }
  const { installabilityErrors } = await answered(
    cdp.send("Page.getInstallabilityErrors"),
    "the obstacles to installing it",
  );
  // A window without a profile is never offered an installation; nothing else is in the way.
  const others = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
  assert.deepEqual(others, []);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.console.offline] without a connection the console opens, reports it, and shows no decision controls", async () => {
  const { page, context } = await scene.visitor("off");
  const id = await submitText(scene, '{"secret":"not kept"}');
  await page.goto(`/inbox/${id}`);
  await page.getByText("not kept").first().waitFor();
  await untilEnabled(page);
  await untilInstalled(page, context);
  await context.setOffline(true);
  await page.locator("#approve:disabled").waitFor();
  for (const path of ["/history", "/policies/floor", `/inbox/${id}`]) {
    await page.goto(path);
    await page.getByText("Could not reach the server. You cannot approve").waitFor();
    assert.equal(await page.getByRole("main").getByRole("button").count(), 0, path);
    assert.ok(!(await page.content()).includes("not kept"), path);
  }
  await picture(page, "offline");
  await context.setOffline(false);
  await untilEnabled(page);
  await context.close();
});
