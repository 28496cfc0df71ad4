/**
 * The console as an app on a device: installed, without a connection, told by Web Push.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "@countersign/server/test/support/page-scene";
import type { Page } from "playwright-core";
import { startConsoleScene } from "./support/console-scene.ts";

const scene = await startConsoleScene({ after });
const { server } = scene;

/** The worker is there and has kept the shell. */
async function untilInstalled(page: Page): Promise<void> {
  await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
}

test("[ours.console.app] it can be installed: a manifest with icons that are there, and a worker at its root", async () => {
  const { page, context, complaints } = await scene.visitor("ina");
  await page.goto("/settings");
  await untilInstalled(page);
  const cdp = await context.newCDPSession(page);
  const { errors, data = "" } = await cdp.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(data) as { icons: readonly { src: string }[]; start_url: string };
  assert.equal(manifest.start_url, "./inbox");
  for (const { src } of manifest.icons) {
    const { status, headers } = await fetch(new URL(src, server.url));
    assert.deepEqual([status, headers.get("content-type")], [200, "image/png"]);
  }
  const { installabilityErrors } = await cdp.send("Page.getInstallabilityErrors");
  // A window without a profile is never offered an installation; nothing else is in the way.
  const others = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
  assert.deepEqual(others, []);
  assert.deepEqual(complaints, []);
});

test("[ours.console.offline] without a connection the shell opens, says so, and shows nothing to decide with", async () => {
  const { page, context } = await scene.visitor("off");
  const { id } = await server.submit(scene.instance.token);
  await page.goto("/settings");
  await untilInstalled(page);
  await context.setOffline(true);
  for (const path of ["/history", `/policies/floor`]) {
    await page.goto(path);
    await page.getByText("The server cannot be reached. Nothing can be decided").waitFor();
    assert.equal(await page.getByRole("main").getByRole("button").count(), 0, path);
  }
  await picture(page, "offline");
  assert.ok(!(await page.content()).includes(id));
  await context.setOffline(false);
  await page.getByRole("heading", { name: "Policies" }).waitFor();
});

test("[ours.console.push] a push names the tool and the time left, and a tap on it opens the request", async () => {
  const { page, context } = await scene.visitor("pus");
  await context.grantPermissions(["notifications"]);
  await page.goto("/settings");
  await untilInstalled(page);
  const cdp = await context.newCDPSession(page);
  await cdp.send("ServiceWorker.enable");
  const registered = new Promise<string>((resolve) => {
    cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const [first] = registrations;
      if (first !== undefined) resolve(first.registrationId);
    });
  });
  await cdp.send("ServiceWorker.disable");
  await cdp.send("ServiceWorker.enable");
  const message = {
    ...{ type: "request.waiting", tag: "one", path: "/inbox/one", tool: "stripe.refund" },
    ...{ instance_name: "quiet-heron", deadline_at: "2026-01-01T01:00:00.000Z" },
  };
  await cdp.send("ServiceWorker.deliverPushMessage", {
    origin: new URL(server.provider.publicUrl).origin,
    registrationId: await registered,
    data: JSON.stringify(message),
  });
  const shown = async () =>
    (await page.evaluate(
      `navigator.serviceWorker.ready
      .then((worker) => worker.getNotifications())
      .then((all) => all.map(({ title, body, tag, data }) => [title, body, tag, data.path]))`,
    )) as string[][];
  let seen = await shown();
  while (seen.length === 0) seen = await shown();
  const [title, body, tag, path] = seen[0] ?? [];
  assert.deepEqual([title, tag, path], ["stripe.refund waits for you", "one", "/inbox/one"]);
  assert.match(body ?? "", /^quiet-heron, until /);
});
