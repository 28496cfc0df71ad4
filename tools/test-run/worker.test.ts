/** A run of files in shared processes, as the files and their results show it. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { createQueue } from "./queue.ts";

const ROOT = resolve(import.meta.dirname, "../..");

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function spawnNode(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Ended {
  const { PATH, HOME } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, script), ...args],
    { env: { PATH, HOME, ...env }, encoding: "utf8" },
  );
  return { status, stdout, stderr };
}

/** Writes files, and returns their paths from the root of the repository. */
function writeFiles(t: TestContext, texts: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "countersign-worker-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return Object.entries(texts).map(([name, text]) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return relative(ROOT, file);
  });
}

/** Runs files in this order in one process. */
function runInOneProcess(t: TestContext, texts: Readonly<Record<string, string>>): Ended {
  const queue = createQueue(writeFiles(t, texts));
  t.after(() => rmSync(queue, { recursive: true }));
  return spawnNode("worker.ts", [], { COUNTERSIGN_TEST_QUEUE: queue });
}

const PASSES = 'import { test } from "node:test"; test("it passes", () => {});\n';

test("a file leaves no variable and no mock to the next one of its process", (t) => {
  const { status, stdout } = runInOneProcess(t, {
    "changes.test.mjs": `
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      import { mock, test } from "node:test";
      test("it changes the process", () => {
        process.env.LEFT_BY_A_FILE = "left";
        mock.method(fs, "existsSync", () => "mocked");
        syncBuiltinESMExports();
        globalThis.isShared = true;
      });`,
    "finds.test.mjs": `
      import assert from "node:assert";
      import { existsSync } from "node:fs";
      import { test } from "node:test";
      test("it finds the process as it was", () => {
        assert.equal(globalThis.isShared, true);
        assert.equal(process.env.LEFT_BY_A_FILE, undefined);
        assert.equal(existsSync("/"), true);
      });`,
  });
  assert.equal(status, 0, stdout);
});

test("the hooks of a file run before the next file", (t) => {
  const { status, stdout } = runInOneProcess(t, {
    "first.test.mjs": `
      import { after, test } from "node:test";
      after(() => { globalThis.hasEnded = true; });
      test("it has a hook", () => {});`,
    "second.test.mjs": `
      import assert from "node:assert";
      import { test } from "node:test";
      test("the hook has run", () => assert.equal(globalThis.hasEnded, true));`,
  });
  assert.equal(status, 0, stdout);
});

test("a file that fails or cannot be loaded fails the run, and the other files run", (t) => {
  const files = writeFiles(t, {
    "fails.test.mjs": 'import { test } from "node:test"; test("it fails", () => { throw 1; });',
    "broken.test.mjs": "import './missing.mjs';",
    "passes.test.mjs": PASSES,
  });
  const { status, stdout } = spawnNode("run-tests.ts", ["sqlite", ...files]);
  assert.equal(status, 1);
  assert.match(stdout, /FAILED \S+fails\.test\.mjs/);
  assert.match(stdout, /FAILED \S+broken\.test\.mjs/);
  assert.match(stdout, /passed \S+passes\.test\.mjs/);
});

test("a test that ends its process fails the run", (t) => {
  const files = writeFiles(t, {
    "ends.test.mjs": 'import { test } from "node:test"; test("it ends", () => process.exit(0));',
  });
  const { status, stdout } = spawnNode("run-tests.ts", ["sqlite", ...files]);
  assert.equal(status, 1);
  assert.match(stdout, /ends\.test\.mjs did not end/);
});

test("a path without a test file is an error", () => {
  const { status, stderr } = spawnNode("run-tests.ts", ["sqlite", "tools/test-run/none.test.ts"]);
  assert.equal(status, 1);
  assert.match(stderr, /No test file is named tools\/test-run\/none\.test\.ts/);
});

test("a process ends after its file when the run was killed", async (t) => {
  const queue = createQueue(
    writeFiles(t, {
      "first.test.mjs": `
        import { test } from "node:test";
        import { setTimeout as sleep } from "node:timers/promises";
        test("it outlives the run", async () => {
          const parent = process.ppid;
          console.log("first started");
          while (process.ppid === parent) await sleep(10);
          console.log("first ended");
        });`,
      "second.test.mjs": 'console.log("second started");',
    }),
  );
  t.after(() => rmSync(queue, { recursive: true }));
  const worker = JSON.stringify(join(import.meta.dirname, "worker.ts"));
  const run = `
    const { spawn } = require("node:child_process");
    spawn(process.execPath, [${worker}], { stdio: "inherit" });`;
  const { PATH, HOME } = process.env;
  const killed = spawn(process.execPath, ["-e", run], {
    env: { PATH, HOME, COUNTERSIGN_TEST_QUEUE: queue },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  for await (const chunk of killed.stdout) {
    output += chunk;
    if (output.includes("first started")) killed.kill("SIGKILL");
  }
  assert.match(output, /first ended/);
  assert.doesNotMatch(output, /second started/);
});
