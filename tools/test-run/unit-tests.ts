/**
 * All unit tests in one process: starting a process and loading its modules takes longer than most
 * of these files.
 */

import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { listTestFiles } from "./test-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");

for (const { path, tier } of listTestFiles(ROOT, ["packages/*/src/**/*.test.ts"])) {
  if (tier === "unit") await import(pathToFileURL(join(ROOT, path)).href);
}
