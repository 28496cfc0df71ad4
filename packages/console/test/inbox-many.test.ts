// Needs: browser
/**
 * The inbox when it is full, hostile or narrow; axe in both themes; and what it weighs.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { picture } from "../../server/test/support/page-scene.ts";
import { require as ask } from "../../server/test/support/requirements.ts";
import { rowOf, startInboxScene, untilLive } from "./support/inbox-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startInboxScene({ after });
const { server, instance } = scene;
const { store } = server.provider.context;

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Findings of axe that are serious or critical. */
async function axe(page: Page): Promise<string[]> {
  // Run by the debugger, which no policy of the page stops.
  const found = (await page.evaluate(`${AXE}; axe.run()`)) as {
    readonly violations: readonly Violation[];
  };
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

const TOOLS = ["stripe.refund", "db.execute", "github.merge", "mail.send", "k8s.scale"];

/** A day of calls: each another one, of five tools, some that ask for more. */
async function fill(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { id } = await server.submit(instance.token, {
      tool: TOOLS[n % TOOLS.length],
      arguments: {
        order: `A-${1_000 + n}`,
        amount: n * 7,
        reason: "The customer was charged twice.",
      },
      timeout: `${30 + n}m`,
    });
    if (n % 7 === 1) await ask(store, id, { confirm: { kind: "match" } });
    if (n % 7 === 3) await ask(store, id, { quorum: 2 });
    if (n % 7 === 5) await ask(store, id, { from: [["group:dba"]] });
  }
}

const MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
const SECRET = "a\u202eb\u200bc";

test("[ours.inbox.exact] markup, hidden and turning characters in every name are text in the inbox", async () => {
  const provisioner = await server.token({ kind: "provisioner", name: "hostile" });
  const { credential } = await server.provision(provisioner, `${MARKUP}${SECRET}`);
  const args = `{ "n": 9007199254740993, "x": 1.10, "t": ${JSON.stringify(SECRET)} }`;
  const body = `{"tool":${JSON.stringify(MARKUP + SECRET)},"arguments":${args},"timeout":"1h"}`;
  const call = { token: credential.token, key: server.freshKey(), body };
  const { json } = await server.call<{ id: string }>("POST", "/v1/requests", call);
  const { page, complaints, context } = await scene.visitor("eve", {
    width: 360,
    height: 740,
    colorScheme: "dark",
  });
  await page.goto("/inbox");
  const row = page.locator(".row");
  await row.waitFor();
  const text = (await row.textContent()) ?? "";
  assert.ok(text.includes(MARKUP) && text.includes("9007199254740993") && text.includes("1.10"));
  assert.ok(!/[\u202e\u200b]/.test(text), "invisible characters are written out");
  assert.equal((await row.locator("mark").count()) > 3, true);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.evaluate("window.broken"), undefined);
  await untilFits(page, 360);
  await picture(page, "inbox-hostile-360-dark");
  await server.decide(scene.reviewer, json.id, "deny");
  await row.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.inbox.phone] the inbox fits a phone of 320 px, and each target is at least 44 px", async () => {
  const args = { path: "long/".repeat(60), text: "x".repeat(4_000) };
  const { id } = await server.submit(instance.token, { tool: "a".repeat(120), arguments: args });
  const { page, context } = await scene.visitor("kim", {
    width: 320,
    height: 640,
    colorScheme: "dark",
  });
  await page.goto("/inbox");
  const row = page.locator(".row");
  await row.waitFor();
  await row.getByRole("checkbox").check();
  await page.getByText("1 call selected").waitFor();
  await picture(page, "inbox-320-dark");
  await untilFits(page, 320);
  for (const element of await page
    .locator("button, .pick, .row-link, nav a, .filter input")
    .all()) {
    const box = await element.boundingBox();
    if (box !== null) assert.ok(box.height >= 44, `${await element.innerText()}: ${box.height} px`);
  }
  await page.getByRole("button", { name: "Deny…" }).click();
  await page.getByRole("dialog").waitFor();
  await untilFits(page, 320);
  await page.setViewportSize({ width: 360, height: 740 });
  await picture(page, "inbox-deny-360-dark");
  await server.decide(scene.reviewer, id, "deny");
  await context.close();
});

test("[ours.console.many] more than two hundred are listed page by page while one scrolls, in their order", async () => {
  await fill(230);
  const { page, complaints, context } = await scene.visitor("ana");
  await page.goto("/inbox");
  await page.locator(".row").nth(50).waitFor();
  await untilLive(page);
  await picture(page, "inbox-200");
  const drawn = await page.locator(".row").count();
  assert.ok(drawn < 200, `${drawn} rows are drawn before anybody scrolls`);
  const last = page.locator("#mine .row").filter({ hasText: "A-1228" });
  for (let frames = 0; frames < 2_000 && (await last.count()) === 0; frames++) {
    await page.mouse.wheel(0, 20_000);
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => done()))");
  }
  await last.scrollIntoViewIfNeeded();
  assert.equal(await page.locator(".row").count(), 230);
  const orders = (await page.locator("#mine .line-text").allTextContents()).map((text) =>
    Number(/A-(\d+)/.exec(text)?.[1]),
  );
  assert.deepEqual(
    orders,
    orders.toSorted((a, b) => a - b),
  );
  assert.equal(await page.locator("#mine .row").count(), orders.length);
  // Something new above does not move what is read below.
  const before = await last.boundingBox();
  await server.submit(instance.token, { tool: "first", timeout: "5m" });
  await rowOf(page, "first").waitFor({ state: "attached" });
  const moved = ((await last.boundingBox())?.y ?? 0) - (before?.y ?? 0);
  assert.ok(Math.abs(moved) <= 1, `it moved ${moved} px`);
  assert.deepEqual(complaints, []);
  await context.close();
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`[ours.console.accessible] axe reports no serious violation in the inbox, ${colorScheme}`, async () => {
    const { page, context } = await scene.visitor(`axe-${colorScheme}`, { colorScheme });
    await page.goto("/inbox");
    await page.locator(".row").nth(20).waitFor();
    await untilLive(page);
    await page.locator(".row").first().getByRole("checkbox").check();
    await page.keyboard.press("j");
    await page.locator(".row.current").waitFor();
    await picture(page, `inbox-200-${colorScheme}`);
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Deny…" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await axe(page), []);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 360, height: 740 });
    await picture(page, `inbox-360-${colorScheme}`);
    assert.deepEqual(await axe(page), []);
    await context.close();
  });
}

const KB = 1024;

test("[ours.console.budget] the inbox loads no more than 60 KB of script and 10 KB of style, compressed", async () => {
  const { page, context } = await scene.visitor("budget");
  const requested = new Set<string>();
  page.on("request", (request) => requested.add(request.url()));
  await page.goto("/inbox");
  await page.locator(".row").first().waitFor();
  await untilLive(page);
  const sizes = new Map<string, number>();
  for (const url of requested) {
    if (!/\.(js|css)$/.test(url)) continue;
    const body = await (await fetch(url)).arrayBuffer();
    sizes.set(url, gzipSync(Buffer.from(body)).length);
  }
  assert.ok(
    [...requested].some((url) => url.includes("feed-worker")),
    "the worker counts too",
  );
  const sum = (ending: string) =>
    [...sizes].filter(([url]) => url.endsWith(ending)).reduce((all, [, size]) => all + size, 0);
  assert.ok(sum(".js") > 5 * KB && sum(".js") <= 60 * KB, `${sum(".js")} bytes of script`);
  assert.ok(sum(".css") > KB && sum(".css") <= 10 * KB, `${sum(".css")} bytes of style`);
  await context.close();
});
