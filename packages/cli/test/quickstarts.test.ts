// Needs: bash, curl
/** The commands of the quickstarts and of the tutorial, run in order against a server. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blocksOf, playGuide } from "./support/play-guide.ts";
import { PAGES } from "./support/quickstart-pages.ts";

const QUICKSTARTS = join(import.meta.dirname, "../../../docs/quickstart");

test("every quickstart has an entry in the table of pages", () => {
  const pages = readdirSync(QUICKSTARTS).map((name) => `quickstart/${name}`);
  assert.ok(pages.length > 5, pages.join());
  assert.deepEqual(
    pages.filter((page) => !(page in PAGES)),
    [],
  );
});

for (const [page, { options, needsNetwork }] of Object.entries(PAGES)) {
  test(`docs/${page}: every code block is run, compared or written as a file`, () => {
    const blocks = blocksOf(page);
    assert.ok(blocks.some(({ language }) => language === "sh"));
    const unused = blocks.filter(({ language, file }) => {
      return language !== "sh" && language !== "text" && file === "";
    });
    assert.deepEqual(unused, []);
  });

  // python-pages.test.ts runs these.
  if (needsNetwork) continue;
  test(`docs/${page}: its commands print what the page states`, async (t) => {
    await playGuide(t, page, options(t));
  });
}

test("docs/tutorials/refund-agent.md: its commands print what the page states", async (t) => {
  await playGuide(t, "tutorials/refund-agent.md");
});
