// Needs: browser
/**
 * The console in another language than English. All translations are replaced by marked ones, so
 * that a text which no catalogue has is visible as such.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import type { Visitor } from "../../server/test/support/browser.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { NO_RATES } from "../../server/test/support/scene.ts";
import type { Catalogue } from "../src/language/translate.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { openScreen, screensOf, type TestedScreen } from "./support/screens.ts";

const FILE = new URL("../src/language/de.json", import.meta.url);
const GERMAN: Catalogue = JSON.parse(readFileSync(FILE, "utf8"));

const scene = await startConsoleScene({ after }, { settings: NO_RATES });
const { server, reviewer } = scene;
const screens: TestedScreen[] = [];

const LATIN = "abcdefghijklmnopqrstuvwxyz";
const CYRILLIC = "абцдефгжийклмнопязстувшхыз";

/** Cyrillic letters instead of the Latin ones: a text of both has confusable characters. */
function marked(text: string): string {
  return text.replaceAll(/\p{Script=Latin}/gu, (letter) => {
    const other = CYRILLIC.at(LATIN.indexOf(letter.toLowerCase())) ?? "";
    return letter === letter.toLowerCase() ? other : other.toUpperCase();
  });
}

const MARKED = JSON.stringify(GERMAN, (_, text) =>
  typeof text === "string" ? marked(text) : text,
);

/** Not in the catalogue: names, times and ids, and what the server writes or agents read. */
const SAME = [
  /\b(?:Countersign|UTC|Do|Jan|min|default|reviewer|provisioner|a test)\b/g,
  /…[0-9a-f]{6}|\b[a-z]+-[a-z]+-[0-9a-z]{4}\b/g,
  /The first call of this tool by this instance in 7 days\./g,
  /^(?:Not now|Wrong target|Ask me first, and say why it is needed)$/g,
];

/** In the page: the widths of its contents and of the window, and the number of links outside. */
const WIDTHS = `(() => {
  const isOutside = (one) => one.getBoundingClientRect().right > innerWidth + 1;
  const links = [...document.querySelectorAll("nav a")].filter(isOutside);
  return [document.documentElement.scrollWidth, innerWidth, links.length];
})()`;

/** In the page: each visible text and each label. */
const TEXTS = `(() => {
  const isRead = (one) => one.checkVisibility() && one.closest("code, kbd, pre, option") === null;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode;
    if (isRead(parentElement)) texts.push(data.trim());
  }
  for (const one of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]")) {
    for (const name of ["aria-label", "title", "placeholder", "alt"]) {
      if (isRead(one)) texts.push(one.getAttribute(name) ?? "");
    }
  }
  return texts;
})()`;

before(async () => {
  const { credential, instance } = await server.provision(
    await server.token({ kind: "provisioner" }),
    "робот",
  );
  const call = { tool: "оплата", arguments: { сумма: 12 }, agent_reasoning: "Так надо." };
  const [first] = await Promise.all(
    [1, 2, 3].map(() => server.submit(credential.token, { ...call, context: { session_id: "1" } })),
  );
  const ended = await server.submit(credential.token, call);
  await server.decide(reviewer, ended.id, "approve", { note: "Да." });
  const ids = { pending: first?.id ?? "", resolved: ended.id, instance: instance.id };
  screens.push(...screensOf(ids));
});

/** Adds the texts with a word in Latin letters. */
async function collect(page: Page, found: Set<string>): Promise<void> {
  for (const text of await page.evaluate<string[]>(TEXTS)) {
    const rest = SAME.reduce((left, same) => left.replaceAll(same, ""), text);
    if (/[a-z]{2}/i.test(rest)) found.add(text);
  }
}

async function markTranslations({ context }: Visitor): Promise<void> {
  await context.route("**/assets/de-*.js", (route) =>
    route.fulfill({ contentType: "text/javascript", body: `export default ${MARKED}` }),
  );
}

test("[ours.console.language] every text of every screen is in the catalogue", async () => {
  const visitor = await scene.member("007", { role: "operator", locale: "de-DE" });
  await markTranslations(visitor);
  const found = new Set<string>();
  for (const screen of screens) {
    await openScreen(visitor.page, screen);
    await collect(visitor.page, found);
  }
  assert.deepEqual([...found], []);
  await visitor.context.close();
});

test("[ours.console.language] every text of the forms and dialogs for deciding is in the catalogue", async () => {
  const visitor = await scene.member("008", { role: "operator", locale: "de-DE" });
  await markTranslations(visitor);
  const { page } = visitor;
  const found = new Set<string>();
  const request = screens.find(({ name }) => name === "request");
  assert.ok(request !== undefined);
  await openScreen(page, request);
  await page.locator("#decide[data-keys=ready]").waitFor();
  for (const [key, opened] of [
    ["d", "#send-denial"],
    ["m", "#grant-preview"],
    ["?", "dialog dl.keys"],
    ["Control+k", "dialog [role=listbox]"],
  ] as const) {
    await page.keyboard.press(key);
    await page.locator(opened).waitFor();
    await collect(page, found);
    await page.keyboard.press("Escape");
    await page.locator(opened).waitFor({ state: "detached" });
  }
  assert.deepEqual([...found], []);
  await visitor.context.close();
});

for (const width of [320, 1280]) {
  test(`[ours.console.language] in German, every screen fits ${width} px and is accessible`, async () => {
    const size = { width, height: 800 };
    const visitor = await scene.member(`${width}`, { role: "operator", locale: "de-DE", ...size });
    const { page, complaints } = visitor;
    for (const screen of screens) {
      await openScreen(page, screen);
      const [content = 0, window, outside] = await page.evaluate<number[]>(WIDTHS);
      assert.deepEqual([content, outside], [window, 0], screen.name);
      await assertAccessible(page);
      await picture(page, `german-${width}-${screen.name}`);
    }
    assert.equal(await page.evaluate("document.documentElement.lang"), "de");
    assert.deepEqual(complaints, []);
    await visitor.context.close();
  });
}
