/**
 * Runs the tests on one engine: `node tools/test-run/run-tests.ts sqlite` runs all of them,
 * `postgres` those again whose providers are on the engine of the run. At the end it names every
 * test that was skipped; the exit code is 1 when one failed, or was skipped that may not be.
 *
 * Patterns after the engine run only those files.
 *
 * Called by: `npm test`, `npm run test:postgres`.
 */

import { join, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { ONLY_ON_SQLITE } from "./only-on-sqlite.ts";
import { judgeSkips, type Skip } from "./skips.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Not again: what is on PostgreSQL, or moves there, on whatever engine the run is. */
const ON_POSTGRESQL_ANYWAY = "postgres-*|import*|rolling-upgrade|migrate-command";

const PATTERNS: Readonly<Record<string, readonly string[]>> = {
  sqlite: ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "tools/**/*.test.ts"],
  postgres: [`packages/server/test/!(${ON_POSTGRESQL_ANYWAY}).test.ts`],
};

/** For one test. What waits for what never comes fails by its name, in place of the whole run. */
const TEST_MS_MAX = 20 * 60_000;

const [engine = "sqlite", ...chosen] = process.argv.slice(2);
const patterns = PATTERNS[engine];
if (patterns === undefined) throw new Error(`the engine is sqlite or postgres, not ${engine}`);

// The processes of the files inherit both.
process.env.COUNTERSIGN_TEST_ENGINE = engine;
// A third of what a small file takes is the compiling of what all of them load.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules/.cache/compiled");
const globPatterns = [...(chosen.length > 0 ? chosen : patterns)];
const events = run({ cwd: ROOT, globPatterns, concurrency: 2, timeout: TEST_MS_MAX });

const skips: Skip[] = [];
for (const type of ["test:pass", "test:fail"] as const) {
  events.on(type, ({ name, skip, todo }) => {
    const reason = skip ?? todo;
    if (reason === undefined || reason === false) return;
    skips.push({ name, reason: String(reason) });
  });
}
let isSuccess = false;
events.on("test:summary", ({ file, success }) => {
  if (file === undefined) isSuccess = success;
});

for await (const text of events.compose(new spec())) process.stdout.write(text);

const counts = engine === "postgres" ? ONLY_ON_SQLITE : {};
const { lines, faults } = judgeSkips(skips, counts, chosen.length === 0);
for (const line of [...lines, ...faults]) process.stdout.write(`${line}\n`);
if (!isSuccess || faults.length > 0) process.exitCode = 1;
