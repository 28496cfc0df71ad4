// Tier: slow
// Needs: bash, python3
/** The pages for Python agents, with the package that they install from the registry. */

import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";
import { PAGES } from "./support/quickstart-pages.ts";

for (const [page, { options, needsNetwork }] of Object.entries(PAGES)) {
  if (!needsNetwork) continue;
  test(`docs/${page}: its commands print what the page states`, async (t) => {
    await playGuide(t, page, options(t));
  });
}
