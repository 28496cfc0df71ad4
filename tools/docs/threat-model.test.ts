/**
 * The threat model cites a test for every defence; each of them must be there.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/security/threat-model.md"), "utf8");

const CITATION = /`([\w./-]+\.test\.ts)`\s+"([^"]*)"/g;
/** One threat and what is said of it. */
const THREAT = /^- \*\*[\s\S]*?(?=^- \*\*|^#|$(?![\s\S]))/gm;

test("every test that the threat model cites is there, under words of its title", () => {
  const citations = [...PAGE.matchAll(CITATION)];
  assert.ok(citations.length > 40, String(citations.length));
  for (const [, file = "", title = ""] of citations) {
    assert.ok(existsSync(join(ROOT, file)), file);
    const titles = readFileSync(join(ROOT, file), "utf8").match(/\btest\(\s*["'`].*/g) ?? [];
    assert.ok(title !== "" && titles.some((each) => each.includes(title)), `${file}: ${title}`);
  }
});

test("no threat is without a test that shows its defence", () => {
  const [, threats = ""] = /^## Threats\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
  const all = threats.match(THREAT) ?? [];
  assert.ok(all.length > 25, String(all.length));
  // How releases are made is no code that a test could run here.
  const without = all.filter((each) => !/\.test\.ts`/.test(each) && !/A release is not/.test(each));
  assert.deepEqual(without, []);
});
