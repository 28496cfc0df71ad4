/** Checks that every test that the threat model cites exists, and that every threat cites one. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/security/threat-model.md"), "utf8");

const CITATION = /`([\w./-]+\.test\.ts)`\s+`([^`]*)`/g;
/** One threat with its defence. */
const THREAT = /^- \*\*[\s\S]*?(?=^- \*\*|^#|$(?![\s\S]))/gm;

test("every test that the threat model cites exists with these words in its title", () => {
  const citations = [...PAGE.matchAll(CITATION)];
  assert.ok(citations.length > 40, String(citations.length));
  for (const [, file = "", title = ""] of citations) {
    assert.ok(existsSync(join(ROOT, file)), file);
    const titles = readFileSync(join(ROOT, file), "utf8").match(/\btest\(\s*["'`].*/g) ?? [];
    assert.ok(title !== "" && titles.some((each) => each.includes(title)), `${file}: ${title}`);
  }
});

test("every threat cites a test of its defence", () => {
  const [, threats = ""] = /^## Threats\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
  const all = threats.match(THREAT) ?? [];
  assert.ok(all.length > 25, String(all.length));
  // No test can run the release process.
  const without = all.filter(
    (each) => !/\.test\.ts`/.test(each) && !/A published package differs/.test(each),
  );
  assert.deepEqual(without, []);
});
