/**
 * Runs test files of the queue one after another in this process; run-tests.ts starts several.
 * Starting a process and loading the server takes longer than most files. The tests of a file
 * are subtests of one test with its path, so that its `after` hooks run before the next file.
 */

import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { claimFiles } from "./queue.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** A test that waits for something that never happens fails by its name. */
const FILE_MS_MAX = 20 * 60_000;

const queue = process.env.COUNTERSIGN_TEST_QUEUE;
if (queue === undefined) throw new Error("COUNTERSIGN_TEST_QUEUE names no queue: npm test sets it");

// Some files wait only for timers that do not keep a process alive. The queue continues after them.
const alive = setInterval(() => {}, FILE_MS_MAX);
for (const path of claimFiles(queue)) {
  await test(path, { timeout: FILE_MS_MAX }, async () => {
    await import(pathToFileURL(join(ROOT, path)).href);
  });
}
clearInterval(alive);
