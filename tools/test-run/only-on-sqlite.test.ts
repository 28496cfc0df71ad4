import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { ONLY_ON_SQLITE } from "./only-on-sqlite.ts";

const ROOT = join(import.meta.dirname, "../..");
const REASON = /\b(?:testOnly|onlyOn)\(\s*"sqlite",\s*"([^"]+)"/g;

// The run on PostgreSQL judges the numbers, a quarter of an hour later.
test("every reason to run on SQLite alone is counted, and none is left over", async () => {
  const reasons = new Set<string>();
  for await (const file of glob("packages/*/{src,test}/**/*.test.ts", { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, reason] of text.matchAll(REASON)) reasons.add(String(reason));
  }
  assert.deepEqual([...reasons].sort(), Object.keys(ONLY_ON_SQLITE).sort());
});
