/**
 * Writes the reports of the public API: `npm run api`. Deletes the reports of removed entry points.
 */

import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../pack/build.ts";
import { makeReports } from "./api-reports.ts";

const reports = makeReports();
for (const old of globSync("packages/*/api/*.api.md", { cwd: ROOT })) {
  if (!reports.has(old)) rmSync(join(ROOT, old));
}
for (const [path, text] of reports) {
  mkdirSync(join(ROOT, dirname(path)), { recursive: true });
  writeFileSync(join(ROOT, path), text);
}
console.log(`${reports.size} reports are in packages/*/api.`);
