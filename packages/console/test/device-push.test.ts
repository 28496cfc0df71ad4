// Needs: browser with notifications
/**
 * Web Push to the console as an app on a device.
 *
 * A push is dispatched as an event inside the worker: the debugger's own message for it can be lost
 * on a busy machine.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Worker } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { startScene } from "../../server/test/support/scene.ts";
import { projectPath } from "../../server/test/support/test-projects.ts";
import { until } from "../../server/test/support/until.ts";
import { withBrowser } from "./support/console-scene.ts";
import { submitText, untilEnabled } from "./support/request-scene.ts";
import { untilInstalled } from "./support/service-worker.ts";
import { answered } from "./support/waits.ts";

const scene = await withBrowser({ after }, await startScene({ after }), { notifications: true });
const { server, instance } = scene;
/** Path of the pages of the project. */
const project = await projectPath(server);

/** Returns each notification that a push has shown. */
const PUSH = `async (data) => {
  const shown = [];
  const show = registration.showNotification;
  registration.showNotification = (title, options) => {
    shown.push({ title, ...options });
    return show.call(registration, title, options);
  };
  const work = [];
  const event = new PushEvent("push", { data });
  event.waitUntil = (promise) => work.push(promise);
  dispatchEvent(event);
  await Promise.all(work);
  delete registration.showNotification;
  return shown;
}`;

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly data: { readonly path: string };
}

function push(worker: Worker, message: object): Promise<readonly Shown[]> {
  const reported = worker.evaluate(`(${PUSH})(${JSON.stringify(JSON.stringify(message))})`);
  return answered(reported as Promise<readonly Shown[]>, "the notifications of a push");
}

/** Taps a notification; what would open a window, which a script may not, is only noted. */
const TAP = `async (data) => {
  const opened = [];
  clients.openWindow = async (url) => { opened.push(url); };
  const work = [];
  const event = new Event("notificationclick");
  event.notification = { data, close() {} };
  event.waitUntil = (promise) => work.push(promise);
  dispatchEvent(event);
  await Promise.all(work);
  return opened;
}`;

/** @returns the windows that it wants opened */
function tap(worker: Worker, { data }: Shown): Promise<readonly string[]> {
  const done = worker.evaluate(`(${TAP})(${JSON.stringify(data)})`);
  return answered(done as Promise<readonly string[]>, "the pages that a tap opens");
}

/** A notification as the server sends it; docs/reference/review-api.md, Web Push. */
function waiting(id: string): object {
  return {
    type: "request.waiting",
    tag: id,
    path: `${project}/inbox/${id}`,
    tool: "stripe.refund",
    instance_name: "quiet-heron",
    deadline_at: "2026-01-01T01:00:00.000Z",
  };
}

test("[ours.console.push] a push notification shows the tool and the remaining time; a tap opens the request and decides nothing", async () => {
  const { page, context, complaints } = await scene.visitor("pus");
  await context.grantPermissions(["notifications"]);
  await page.goto("/settings");
  const worker = await untilInstalled(page, context);
  const id = await submitText(scene, '{"amount":12}', { tool: "stripe.refund" });
  const [note, ...others] = await push(worker, waiting(id));
  assert.ok(note !== undefined && others.length === 0);
  assert.deepEqual(
    [note.title, note.tag, note.data.path],
    ["stripe.refund needs your decision", id, `${project}/inbox/${id}`],
  );
  assert.match(note.body, /^quiet-heron, until \d/);
  assert.deepEqual(await tap(worker, note), []);
  await page.waitForURL(`**/inbox/${id}`);
  await untilEnabled(page);
  await page.getByText('{"amount":12}').first().waitFor();
  assert.equal((await server.read(instance.token, id)).status, "pending");
  await picture(page, "push-tapped");
  // A window of another project stays as it is.
  const path = "/p/0123456789abcdef/inbox/one";
  const elsewhere = new URL(path, server.provider.publicUrl).href;
  assert.deepEqual(await tap(worker, { ...note, data: { path } }), [elsewhere]);

  await page.goto("/history");
  await page.getByRole("heading", { level: 1, name: "History" }).waitFor();
  await server.decide(scene.reviewer, id, "deny", { note: "Another reviewer was faster." });
  assert.deepEqual(await tap(worker, note), []);
  await page.waitForURL(`**/inbox/${id}`);
  await page.getByText("Note: Another reviewer was faster.").waitFor();
  assert.equal(await page.locator("#approve, #deny").count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.console.push] without an open window a tap opens one with the request; a resolved request replaces its notification", async () => {
  const { page, context } = await scene.visitor("pul");
  await context.grantPermissions(["notifications"]);
  await page.goto("/settings");
  const worker = await untilInstalled(page, context);
  const [note] = await push(worker, waiting("one"));
  const [over] = await push(worker, {
    type: "request.resolved",
    tag: "one",
    path: `${project}/inbox/one`,
    tool: "stripe.refund",
    instance_name: "quiet-heron",
    status: "denied",
    silent: true,
  });
  assert.ok(note !== undefined && over !== undefined);
  assert.deepEqual(
    [over.title, over.body, over.tag],
    ["stripe.refund: denied", "quiet-heron. Nothing is left to decide.", note.tag],
  );
  // Not the console's: it stays where it is.
  await page.goto("about:blank");
  const windows = "clients.matchAll({ type: 'window' }).then((all) => all.length)";
  await until(
    async () => (await answered(worker.evaluate(windows), "its windows")) === 0,
    "the worker has no window",
  );
  assert.deepEqual(await tap(worker, note), [
    new URL(`${project}/inbox/one`, server.provider.publicUrl).href,
  ]);
  await context.close();
});

test("[ours.console.push] a notification is in the language of the last page", async () => {
  const { page, context } = await scene.visitor("pug");
  await context.grantPermissions(["notifications"]);
  await page.goto("/settings");
  const worker = await untilInstalled(page, context);
  await page.locator("[name=language]").selectOption("de");
  await page.locator("form:has([name=language]) button[type=submit]").click();
  const stored = "caches.match('language').then((one) => one?.text())";
  await until(
    async () => (await answered(worker.evaluate(stored), "the stored language")) === "de",
    "the page has stored its language",
  );
  const [note] = await push(worker, waiting("one"));
  const [over] = await push(worker, {
    type: "request.resolved",
    tag: "one",
    path: `${project}/inbox/one`,
    tool: "stripe.refund",
    instance_name: "quiet-heron",
    status: "denied",
  });
  assert.equal(note?.title, "stripe.refund braucht Ihre Entscheidung");
  assert.match(note?.body ?? "", /^quiet-heron, bis \d\d:\d\d$/);
  assert.deepEqual(
    [over?.title, over?.body],
    ["stripe.refund: abgelehnt", "quiet-heron. Es ist nichts mehr zu entscheiden."],
  );
  await context.close();
});
