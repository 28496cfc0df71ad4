/**
 * Runs test files of the queue one after another in this process; run-tests.ts starts several.
 * Starting a process and loading the server takes longer than most files. The tests of a file
 * are subtests of one test with its path, so that its `after` hooks run before the next file.
 */

import { syncBuiltinESMExports } from "node:module";
import { join, resolve } from "node:path";
import { mock, test } from "node:test";
import { pathToFileURL } from "node:url";
import { claimFiles } from "./queue.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** A test that waits for something that never happens fails by its name. */
const FILE_MS_MAX = 20 * 60_000;

/** How long the process may take to exit after its last file. */
const EXIT_MS_MAX = 60_000;

const queue = process.env.COUNTERSIGN_TEST_QUEUE;
if (queue === undefined) throw new Error("COUNTERSIGN_TEST_QUEUE names no queue: npm test sets it");

// Some files wait only for timers that do not keep a process alive. The queue continues after them.
const alive = setInterval(() => {}, FILE_MS_MAX);
const environment = { ...process.env };
const parent = process.ppid;
for (const path of claimFiles(queue)) {
  // The run was killed: its results are not read.
  if (process.ppid !== parent) break;
  await test(path, { timeout: FILE_MS_MAX }, async () => {
    await import(pathToFileURL(join(ROOT, path)).href);
  });
  mock.restoreAll();
  syncBuiltinESMExports();
  restoreEnvironment();
}
clearInterval(alive);
setTimeout(() => {
  throw new Error("A test file left something open that keeps the process alive.");
}, EXIT_MS_MAX).unref();

/** A file may leave variables, such as an API key, that would change the next one. */
function restoreEnvironment(): void {
  for (const name of Object.keys(process.env)) {
    if (!(name in environment)) delete process.env[name];
  }
  Object.assign(process.env, environment);
}
