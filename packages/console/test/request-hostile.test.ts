// Needs: browser
/**
 * Input that tries to deceive the reviewer or to break the page: the page shows it whole, as text,
 * and stays responsive.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { approveOn, openRequest, submitText, untilEnabled } from "./support/request-scene.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server } = scene;
const eve = await scene.visitor("eve", { width: 1280, height: 720 });
const { page, complaints } = eve;

const MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
const SECRET = "a\u202eb\u200bc";
const HOSTILE = MARKUP + SECRET;

function seen(text: string): string {
  return text.replaceAll("\u202e", "\\u{202E}").replaceAll("\u200b", "\\u{200B}");
}

test("[ours.inbox.exact] markup, invisible and bidirectional characters in every field are displayed as text", async () => {
  const provisioner = await server.token({ kind: "provisioner", name: "hostile" });
  const { credential } = await server.provision(provisioner, HOSTILE);
  const args = `{ "n": 9007199254740993, "x": 1.10, "e": 1e400, "t": ${JSON.stringify(HOSTILE)} }`;
  const hostile = JSON.stringify(HOSTILE);
  const context = `{"cwd":${hostile}, "n": 1.0}`;
  const more = `,"agent_reasoning":${hostile},"context":${context}`;
  const instance = { ...scene.instance, token: credential.token };
  const id = await submitText({ server, instance }, args, { tool: HOSTILE, more });
  await page.setViewportSize({ width: 360, height: 740 });
  await page.emulateMedia({ colorScheme: "dark" });
  await openRequest(page, id);
  await page.locator("#deny:enabled").waitFor();
  assert.equal(await page.locator("#arguments").textContent(), seen(args));
  assert.equal(await page.locator("#context").textContent(), seen(context));
  for (const field of ["tool", "instance", "reasoning"]) {
    assert.equal(await page.locator(`#${field}`).textContent(), seen(HOSTILE), field);
  }
  assert.ok((await page.title()).includes(seen(HOSTILE)));
  const labels = await page
    .locator("#arguments mark")
    .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("data-label")));
  assert.deepEqual(labels, ["right-to-left override", "zero-width space"]);
  await picture(page, "request-hostile-360-dark");
  assert.equal(await page.evaluate("window.broken"), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.locator("#exact a, #claim a, #around a").count(), 0);
  await untilFits(page, 360);
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.exact] letters of another script in a word, and confusable characters, are labelled", async () => {
  const id = await submitText(
    scene,
    '{"to":"p\u0430ypal.com","run":"a \u2215 b","name":"Łódź 東京"}',
  );
  await openRequest(page, id);
  await page.locator("#arguments mark").first().waitFor();
  const marks = await page
    .locator("#arguments mark")
    .evaluateAll((all) => all.map((mark) => [mark.textContent, mark.getAttribute("data-label")]));
  assert.deepEqual(marks, [
    ["\u0430", "Cyrillic"],
    ["\u2215", "not /"],
  ]);
  await page.getByText("2 characters are marked").waitFor();
  await picture(page, "request-look-alikes");
});

for (const [width, height] of [
  [1280, 720],
  [360, 740],
] as const) {
  test(`[ours.inbox.exact] with 500 lines, buttons and time left are on a screen of ${width}x${height}, and approving waits for the end`, async () => {
    const lines = Array.from({ length: 500 }, (_, n) => `  "line ${n}": ${n}`).join(",\n");
    const id = await submitText(scene, `{\n${lines}\n}`, { tool: "edit" });
    await page.setViewportSize({ width, height });
    await openRequest(page, id);
    await page.getByText("To approve, scroll to the end of the arguments").waitFor();
    await page.locator("#deny:enabled").waitFor();
    for (const part of ["#approve", "#deny", "#left"]) {
      const box = await page.locator(part).boundingBox();
      assert.ok(box !== null && box.y >= 0 && box.y + box.height <= height, `${part} is not there`);
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${part} is beside the screen`);
    }
    await picture(page, `request-500-lines-${width}`);
    assert.equal(await page.locator("#approve").isDisabled(), true);
    await page.locator("#arguments-box").focus();
    await page.keyboard.press("End");
    await untilEnabled(page);
    await page.setViewportSize({ width: 1280, height: 720 });
    assert.deepEqual(complaints, []);
  });
}

test("[ours.inbox.exact] a text of 100 KB is displayed completely, and can be approved after all of it was requested", async () => {
  const text = `${"x".repeat(50_000)}\u200b${"é".repeat(50_000)}`;
  const id = await submitText(scene, `{"text":"${text}"}`, { tool: "edit" });
  await openRequest(page, id);
  await page.getByText("To approve, scroll to the end of the arguments").waitFor();
  assert.equal(await page.locator("#approve").isDisabled(), true);
  await press(page, "Show all");
  await untilEnabled(page);
  assert.equal(await page.locator("#arguments").textContent(), seen(`{"text":"${text}"}`));
  await page.getByRole("button", { name: "Show all" }).waitFor({ state: "detached" });
  await approveOn(scene, page);
  await page.getByText("Approved by you.").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.exact] 10,000 keys and 20,000 hidden characters do not prevent a denial", async () => {
  const keys = Array.from({ length: 10_000 }, (_, n) => `"key ${n}":{"v":${n}.0}`).join(",");
  const hidden = "a\u200b".repeat(20_000);
  for (const args of [`{${keys}}`, `{"t":"${hidden}"}`]) {
    const id = await submitText(scene, args, { tool: "bulk" });
    await openRequest(page, id);
    await page.locator("#deny:enabled").click();
    await page.locator("#reason").fill("Too much.");
    await page.locator("#send-denial:enabled").click();
    await page.getByText("Denied by you.").waitFor();
    await page.locator("#arguments-box #end").waitFor({ state: "attached" });
  }
  const id = await submitText(scene, `{${keys}}`, { tool: "bulk" });
  await openRequest(page, id);
  await press(page, "Show all");
  await untilEnabled(page);
  assert.equal(await page.locator("#arguments").textContent(), `{${keys}}`);
  await page.getByText("Show formatted").click();
  await page.getByText('"v": 9999.0').waitFor();
  assert.deepEqual(complaints, []);
});

const NESTED = `${'{"a":'.repeat(98)}1${"}".repeat(98)}`;
const LINES = "x\n".repeat(200_000);

const OVERSIZED: readonly (readonly [title: string, args: unknown, tool?: string])[] = [
  ["20,000 open substitutions", { command: "$(".repeat(20_000) }],
  ["20,000 quoted substitutions", { command: '"$('.repeat(20_000) }],
  ["100,000 parentheses of SQL", { sql: `select ${"(".repeat(100_000)}` }],
  ["1 MB of addresses", { url: "http://a.example ".repeat(60_000) }],
  ["an edit of 200,000 lines", { file_path: "a", old_string: LINES, new_string: "y\n" }],
  ["a patch of 200,000 lines", { patch: `@@ -1 +1 @@\n${"+\n".repeat(200_000)}` }],
  ["nesting at the limit", JSON.parse(NESTED)],
  [
    "a name of 500 KB",
    { currency: "EUR", ["k".repeat(500_000)]: [], [`a${"b".repeat(90_000)}_total`]: 1 },
  ],
];

for (const [title, args, tool = "Bash"] of OVERSIZED) {
  test(`[ours.request.previews] ${title}: tool, exact arguments, Deny and Approve are usable`, async () => {
    const text = JSON.stringify(args);
    const id = await submitText(scene, text, { tool });
    await openRequest(page, id);
    assert.equal(await page.locator("#tool").textContent(), tool);
    await page.locator("#deny:enabled").waitFor();
    const length = "document.querySelector('#arguments')?.textContent.length";
    await until(async () => (await page.evaluate(length)) === text.length, "all arguments");
    assert.ok((await page.locator("#arguments").textContent()) === text);
    const showAll = page.getByRole("button", { name: "Show all" });
    if ((await showAll.count()) > 0) await showAll.click();
    await untilEnabled(page);
    await page.locator("#deny:enabled").click();
    await page.locator("#reason").fill("Too much.");
    await page.locator("#send-denial:enabled").click();
    await page.getByText("Denied by you.").waitFor();
    assert.deepEqual(complaints, []);
  });
}

test("[ours.request.previews] a fault in one preview leaves the rest of the page usable", async () => {
  const faulty = await page.context().newPage();
  await faulty.addInitScript(
    "Intl.DisplayNames = class { constructor() { throw new Error('x') } }",
  );
  const id = await submitText(scene, '{"amount":1,"currency":"EUR","url":"https://a.example"}');
  await openRequest(faulty, id);
  await faulty.getByText("Could not show a preview.").waitFor();
  await faulty.getByRole("region", { name: "Preview: Address" }).waitFor();
  await untilEnabled(faulty);
  await faulty.locator("#deny:enabled").waitFor();
  assert.match((await faulty.locator("#arguments").textContent()) ?? "", /"currency":"EUR"/);
  await faulty.close();
});
