import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const VALIDATOR = join(ROOT, "node_modules/@action-validator/cli/cli.mjs");

/** The second one has workflows that users copy. */
const FOLDERS = [".github/workflows", "deploy/github-actions"];

for (const path of FOLDERS.flatMap((folder) => globSync(`${folder}/*`, { cwd: ROOT }))) {
  test(`[ours.apply.action] ${path} is a valid workflow, and pins each action to a commit`, () => {
    const file = join(ROOT, path);
    execFileSync(process.execPath, [VALIDATOR, file], { cwd: ROOT });
    const text = readFileSync(file, "utf8");
    for (const [, action] of text.matchAll(/uses: (.+)/g)) {
      assert.match(action ?? "", /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
  });
}
