// Needs: frameworks
// Process: own
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../pack/build.ts";
import { makeReports } from "./api-reports.ts";

const reports = makeReports();

test("the reports of the public API are up to date (npm run api)", () => {
  const stored = globSync("packages/*/api/*.api.md", { cwd: ROOT }).sort();
  assert.deepEqual(stored, [...reports.keys()].sort(), "Run: npm run api");
  for (const [path, text] of reports) {
    const message = `${path} is out of date. Run npm run api, and review the difference.`;
    assert.equal(readFileSync(join(ROOT, path), "utf8"), text, message);
  }
});

test("every entry point of the SDK has a report with its own exports", () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "packages/sdk/package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const paths = [...reports.keys()].filter((path) => path.startsWith("packages/sdk/"));
  assert.equal(paths.length, Object.keys(exports).length);
  for (const path of paths) assert.match(reports.get(path) ?? "", /^export /m, path);
  assert.match(reports.get("packages/sdk/api/index.api.md") ?? "", /^export class Countersign /m);
  const ai = reports.get("packages/sdk/api/ai.api.md") ?? "";
  assert.match(ai, /^import type \{ ToolSet \} from 'ai';$/m);
  assert.match(ai, /^export function gateTools<Tools extends ToolSet>/m);
  assert.doesNotMatch(ai, /class Countersign/, "declared by the main entry point");
});

test("every public export has a docstring", () => {
  for (const [path, text] of reports) {
    const missing = [...text.matchAll(/^\/\/ @public \(undocumented\)\n(.+)/gm)];
    assert.deepEqual(
      missing.map(([, declaration]) => declaration),
      [],
      path,
    );
  }
});
