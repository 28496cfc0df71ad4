// Needs: browser with notifications
/** Notices of an open console that is not in use. */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { startScene } from "../../server/test/support/scene.ts";
import { until } from "../../server/test/support/until.ts";
import { assertAccessible } from "./support/axe.ts";
import { withBrowser } from "./support/console-scene.ts";
import { rowOf, untilLive } from "./support/inbox-scene.ts";
import { submitText } from "./support/request-scene.ts";
import { untilInstalled } from "./support/service-worker.ts";

const scene = await withBrowser({ after }, await startScene({ after }), { notifications: true });
const { page, context, complaints } = await scene.visitor("ana");
await context.grantPermissions(["notifications"]);

/** The browser of a test reports that each page has the focus. */
async function setFocus(one: Page, hasFocus: boolean): Promise<void> {
  await one.evaluate(`
    document.hasFocus = () => ${hasFocus};
    dispatchEvent(new Event("${hasFocus ? "focus" : "blur"}"));
  `);
}

/** By then, what the page asked of the browser's locks before is answered, too. */
async function locksAnswered(one: Page): Promise<void> {
  await one.evaluate("navigator.locks.query().then(() => {})");
}

/** Other tabs see the lock of a tab in use a little later. */
async function untilInUse(one: Page, expected: boolean): Promise<void> {
  const query = `navigator.locks.query()
    .then(({ held }) => held.some(({ name }) => name === "countersign.in-use"))`;
  const isReached = async () => (await one.evaluate(query)) === expected;
  await until(isReached, expected ? "a tab is in use" : "no tab is in use");
}

interface Notice {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly path: string;
}

/** Listed with the lock of the console: Chromium forgets what is listed while it is shown. */
function noticesOf(one: Page): Promise<Notice[]> {
  return one.evaluate(`navigator.serviceWorker.ready
    .then((registration) =>
      navigator.locks.request("countersign.notifications", () => registration.getNotifications()))
    .then((all) => all.map(({ title, body, tag, data }) => ({ title, body, tag, ...data })))`);
}

test("[ours.notify.open] a new request has a notification without its arguments, which ends with the request", async () => {
  await page.goto("/settings");
  await untilInstalled(page, context);
  const region = page.getByRole("region", { name: "While the console is open" });
  // It is checked when the browser has given its permission.
  const desktop = region.getByLabel("Show a desktop notification");
  await desktop.click();
  await desktop.and(page.locator(":checked")).waitFor();
  await region.getByLabel("Play a sound").check();
  await assertAccessible(page);
  await picture(page, "settings-notices");
  await page.goto("/inbox");
  await untilLive(page);
  await setFocus(page, false);
  const id = await submitText(scene, '{"amount":12}', { tool: "stripe.ref\u200bund" });
  await page.locator(".row").waitFor();
  await until(async () => (await noticesOf(page)).length === 1, "the notification is shown");
  const [notice] = await noticesOf(page);
  assert.ok(notice !== undefined);
  assert.equal(notice.title, "stripe.ref\\u{200B}und needs your decision");
  assert.equal(notice.tag, id);
  assert.match(notice.path, new RegExp(`^/p/[0-9a-f]+/inbox/${id}$`));
  // Ids and the path may have any digits.
  assert.doesNotMatch(`${notice.title} ${notice.body}`, /amount|12/);
  await scene.server.decide(scene.reviewer, id, "deny");
  await until(async () => (await noticesOf(page)).length === 0, "the notification is removed");
});

test("[ours.notify.open] an open tab uses the choice that the user makes in another tab", async (t) => {
  const other = await context.newPage();
  t.after(() => other.close());
  await other.goto("/settings");
  const region = other.getByRole("region", { name: "While the console is open" });
  const desktop = region.getByLabel("Show a desktop notification");
  await region.getByLabel("Play a sound").uncheck();
  await desktop.uncheck();
  await page.reload();
  await untilLive(page);
  await setFocus(page, false);
  await desktop.click();
  await desktop.and(other.locator(":checked")).waitFor();
  await region.getByLabel("Play a sound").check();
  await other.goto("about:blank");
  await untilInUse(page, false);
  await assertNotice(page, "chosen");
});

/** A tab beside `page`, which is not in use either, and hears of requests alone. */
async function openOther(t: TestContext, script: string): Promise<Page> {
  const other = await context.newPage();
  await page.goto("about:blank");
  t.after(async () => {
    await other.close();
    await page.goto("/inbox");
    await untilLive(page);
    await setFocus(page, false);
  });
  await other.addInitScript(script);
  await other.goto("/inbox");
  await untilLive(other);
  await setFocus(other, false);
  await untilInUse(other, false);
  return other;
}

async function assertNotice(one: Page, tool: string): Promise<void> {
  const id = await submitText(scene, "{}", { tool });
  await rowOf(one, tool).waitFor();
  await until(async () => (await noticesOf(one)).length === 1, "the notification is shown");
  await scene.server.decide(scene.reviewer, id, "deny");
  await until(async () => (await noticesOf(one)).length === 0, "the notification is removed");
}

test("[ours.notify.open] a browser without a sound device shows the notification", async (t) => {
  const silent = await openOther(
    t,
    'globalThis.AudioContext = class { constructor() { throw new Error("no sound device"); } };',
  );
  await assertNotice(silent, "silent");
});

test("[ours.notify.open] a slow check for a newer service worker does not delay a notification", async (t) => {
  const unchecked = await openOther(
    t,
    "ServiceWorkerContainer.prototype.register = () => new Promise(() => {});",
  );
  await assertNotice(unchecked, "unchecked");
});

/** A notification is being shown until `release` is called; `lists` counts the requested lists. */
const SLOW_NOTIFICATIONS = `
  const { prototype } = ServiceWorkerRegistration;
  const { showNotification, getNotifications } = prototype;
  const { promise, resolve } = Promise.withResolvers();
  globalThis.release = resolve;
  globalThis.lists = 0;
  prototype.showNotification = async function (...rest) {
    await showNotification.apply(this, rest);
    globalThis.isShowing = true;
    await promise;
  };
  prototype.getNotifications = function () {
    globalThis.lists++;
    return getNotifications.call(this);
  };
`;

test("[ours.notify.open] notifications are not listed while one is being shown", async (t) => {
  const slow = await openOther(t, SLOW_NOTIFICATIONS);
  const first = await submitText(scene, "{}", { tool: "first" });
  await until(() => slow.evaluate<boolean>("globalThis.isShowing === true"), "it is being shown");
  const before = await slow.evaluate<number>("lists");
  const second = await submitText(scene, "{}", { tool: "second" });
  await rowOf(slow, "second").waitFor();
  await locksAnswered(slow);
  assert.equal(await slow.evaluate("lists"), before);
  await slow.evaluate("release()");
  await until(async () => (await noticesOf(slow)).length === 2, "both are shown");
  for (const id of [first, second]) await scene.server.decide(scene.reviewer, id, "deny");
  await until(async () => (await noticesOf(slow)).length === 0, "both are removed");
});

test("[ours.notify.open] there is no notice while a tab of the console is in use", async () => {
  const used = await context.newPage();
  await used.goto("/inbox");
  await untilLive(used);
  await setFocus(used, true);
  await untilInUse(page, true);
  const first = await submitText(scene, "{}", { tool: "while-in-use" });
  // Both tabs have decided about a notice.
  for (const tab of [page, used]) {
    await rowOf(tab, "while-in-use").waitFor();
    await locksAnswered(tab);
  }
  await setFocus(used, false);
  await untilInUse(page, false);
  const second = await submitText(scene, "{}", { tool: "later" });
  await until(async () => (await noticesOf(page)).length > 0, "the later one is shown");
  assert.deepEqual(
    (await noticesOf(page)).map(({ tag }) => tag),
    [second],
  );
  for (const id of [first, second]) await scene.server.decide(scene.reviewer, id, "deny");
  await until(async () => (await noticesOf(page)).length === 0, "the notification is removed");
  await used.close();
});

test("[ours.notify.open] a tab that hears of a request when no tab is in use any more shows no notice", async () => {
  const used = await context.newPage();
  await used.goto("/inbox");
  await untilLive(used);
  const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  // The tab in use hears of the request later than the other one.
  await used.route("**/requests/*", async (route) => {
    ask();
    await mayAnswer;
    await route.continue();
  });
  await setFocus(used, true);
  await untilInUse(page, true);
  const id = await submitText(scene, "{}", { tool: "heard-late" });
  await rowOf(page, "heard-late").waitFor();
  await locksAnswered(page);
  await isAsked;
  await setFocus(used, false);
  await untilInUse(page, false);
  answer();
  await rowOf(used, "heard-late").waitFor();
  await locksAnswered(used);
  assert.deepEqual(await noticesOf(page), []);
  await scene.server.decide(scene.reviewer, id, "deny");
  await rowOf(page, "heard-late").waitFor({ state: "detached" });
  await used.close();
});

test("[ours.notify.open] a user who wants no notifications has no notice", async () => {
  await page.evaluate(`fetch("/review/v1/account/preferences", {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ notify: "none" }),
  })`);
  await page.reload();
  await untilLive(page);
  await setFocus(page, false);
  const id = await submitText(scene, "{}", { tool: "unwanted" });
  await rowOf(page, "unwanted").waitFor();
  await locksAnswered(page);
  await scene.server.decide(scene.reviewer, id, "deny");
  await rowOf(page, "unwanted").waitFor({ state: "detached" });
  assert.deepEqual(await noticesOf(page), []);
  assert.deepEqual(complaints, []);
});
