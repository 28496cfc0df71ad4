// Needs: browser
/**
 * Rules of every screen: it works at a zoom of 200 %, respects reduced motion, and neither shows
 * nor exports a secret. The test opens each screen once, on a server with a secret of every kind.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { untilSealed } from "../../server/test/support/audit-logs.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { withBrowser } from "./support/console-scene.ts";
import { openScreen, screensOf } from "./support/screens.ts";
import { addBrowser, findSecrets, startSecretScene, storedSecrets } from "./support/secrets.ts";

const scene = await withBrowser({ after }, await startSecretScene({ after }));
const { server, instance, reviewer, secrets } = scene;
/** A window of 1280 x 800 px at 200 %. */
const ZOOMED = { width: 640, height: 400, scale: 2 };
const { page, complaints } = await scene.visitor("ona", { role: "operator", ...ZOOMED });

/** Runs in the page: controls that cannot be clicked, also after scrolling to them. */
const OUT_OF_REACH = `(() => {
  const controls = document.querySelectorAll("button, a[href], input, select, textarea, summary");
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true });
  return [...controls].filter(isShown).flatMap((one) => {
    if (one.matches(".skip") || one.closest(".spoken") !== null) return [];
    one.scrollIntoView({ block: "center", inline: "nearest" });
    const lines = [...one.getClientRects()];
    const isHit = lines.some(({ left, top, width, height }) => {
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      return hit !== null && (one.contains(hit) || one.closest("label")?.contains(hit));
    });
    return isHit ? [] : [one.outerHTML.slice(0, 120)];
  });
})()`;

/** In the page: what is moving, or would when it changes. */
const MOVING = `(() => {
  const running = document.getAnimations().filter(({ playState }) => playState === "running");
  const isMoving = (style) =>
    style.animationName !== "none" ||
    style.scrollBehavior === "smooth" ||
    style.transitionDuration.split(",").some((duration) => parseFloat(duration) > 0);
  const able = [...document.querySelectorAll("*")].filter((one) =>
    [null, "::before", "::after"].some((part) => isMoving(getComputedStyle(one, part))));
  return [...running.map(String), ...able.map((one) => one.outerHTML.slice(0, 120))];
})()`;

/** In the page: what is in it and in its stores, also typed into fields. */
const STORED_TEXT = `JSON.stringify([
  document.documentElement.outerHTML,
  [...document.querySelectorAll("input, textarea")].map(({ value }) => value),
  history.state, { ...localStorage }, { ...sessionStorage }, document.cookie, location.href,
])`;

/** With what only the scene of this test has. */
const COMPLETE: Readonly<Record<string, string>> = {
  inbox: ".members",
  instance: "main table",
  tokens: "main table",
  channels: "main li",
};

interface Seen {
  readonly sideways: readonly [number, number];
  readonly outOfReach: readonly string[];
  readonly moving: readonly string[];
  /** With motion that is welcome. */
  readonly movingElse: readonly string[];
}

const seen = new Map<string, Seen>();
/** All that came to the browser or was taken away, by where from. */
const texts = new Map<string, string>();
const arriving: Promise<void>[] = [];

before(async () => {
  const same = { tool: "stripe.refund", arguments: { order: "A-1" } };
  const [waits] = await Promise.all([1, 2, 3].map(() => server.submit(instance.token, same)));
  const ended = await server.submit(instance.token, { tool: "deploy" });
  await server.decide(reviewer, ended.id, "approve", { note: "Fine." });
  await addBrowser(scene, page);
  page.on("response", (response) => {
    const [kind] = (response.headers()["content-type"] ?? "").split(";");
    if (kind === "text/event-stream" || response.status() === 304) return;
    const keep = response.text().then(
      (text) => void texts.set(`${response.url()} ${arriving.length}`, text),
      // Of a page that was left, or an image.
      () => {},
    );
    arriving.push(keep);
  });
  const ids = { pending: waits?.id ?? "", resolved: ended.id, instance: instance.id };
  for (const { name, path, complete } of screensOf(ids)) {
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await openScreen(page, { path, complete: COMPLETE[name] ?? complete });
    const movingElse = await page.evaluate<string[]>(MOVING);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await picture(page, `zoomed-${name}`);
    const widths = "[document.documentElement.scrollWidth, innerWidth]";
    seen.set(name, {
      sideways: await page.evaluate<[number, number]>(widths),
      outOfReach: await page.evaluate<string[]>(OUT_OF_REACH),
      moving: await page.evaluate<string[]>(MOVING),
      movingElse,
    });
    texts.set(`the page ${path}`, await page.evaluate<string>(STORED_TEXT));
  }
  await Promise.all(arriving);
});

test("[ours.console.zoom] at 200 % no screen is wider than its window, and everything on it can be reached and pressed", () => {
  for (const [path, { sideways, outOfReach }] of seen) {
    const [content, window] = sideways;
    assert.ok(content <= window && window === 640, `${path}: ${content} px of ${window}`);
    assert.deepEqual(outOfReach, [], path);
  }
});

test("[ours.console.motion] there is no animation if the user prefers reduced motion", () => {
  for (const [path, { moving }] of seen) assert.deepEqual(moving, [], path);
  assert.ok([...seen.values()].some(({ movingElse }) => movingElse.length > 0));
});

test("[ours.console.secrets] no screen, response for a screen or download contains a secret", async () => {
  const token = await server.token({ kind: "reviewer", name: "reads", role: "operator" });
  await untilSealed(scene);
  for (const path of [
    "history/export?format=csv",
    "history/export?format=jsonl",
    "history/insights",
    "audit/entries?limit=200",
    "audit/export",
    "audit/checkpoint",
    "requests",
    "deliveries",
    "reviewers",
    "tokens",
    "invitations",
    "channels",
  ]) {
    const { status, text } = await server.call("GET", `/review/v1/${path}`, { token });
    assert.ok(status === 200 && text.length > 0, `${path}: ${status} ${text}`);
    texts.set(path, text);
  }
  assert.ok(texts.size > 60, `${texts.size} texts`);
  const shown = new Map([["a value that is not secret", "stripe.refund"]]);
  assert.ok(findSecrets(shown, texts).length > 5);
  const stored = await storedSecrets(server);
  assert.ok(stored.size > 15, `${stored.size} stored`);
  assert.deepEqual(findSecrets(new Map([...secrets, ...stored]), texts), []);
});

test("[ours.console.quiet] no screen complains, or asks for anything of another server", () => {
  assert.deepEqual(complaints, []);
});
