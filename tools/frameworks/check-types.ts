/**
 * Type-checks the sources that import an agent framework. Without the frameworks it prints a
 * warning; with COUNTERSIGN_TEST_COMPLETE=yes, as in .ci, it fails.
 */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { linkFrameworks } from "./link.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/.bin/tsc");

if (linkFrameworks()) {
  for (const project of ["frameworks", "examples/use-chat"]) {
    const { status } = spawnSync(TSC, ["-p", join(ROOT, project)], { stdio: "inherit" });
    if (status !== 0) process.exitCode = status ?? 1;
  }
} else {
  process.stderr.write(
    "WARNING: the sources that import an agent framework were not type-checked.\n" +
      "To check them, run: npm run frameworks\n",
  );
  if (process.env.COUNTERSIGN_TEST_COMPLETE === "yes") process.exitCode = 1;
}
