import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { chromium } from "playwright-core";
import { findBrowser } from "./browser.ts";
import { findMissing, findProgram } from "./programs.ts";
import { listTestFiles, readTestFile } from "./test-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");

test("a program is found on the PATH, or not at all", () => {
  const folder = dirname(process.execPath);
  assert.equal(findProgram("node", folder), process.execPath);
  assert.equal(findProgram("no-such-program", folder), undefined);
  assert.equal(findProgram("node", ""), undefined);
});

test("a program without a row in the table is an error", () => {
  assert.throws(() => findMissing(["no-such-program"]), /has no "no-such-program"/);
});

test("every program that a test file names is in the table", () => {
  const files = listTestFiles(ROOT, ["packages/*/{src,test}/**/*.test.ts", "tools/**/*.test.ts"]);
  assert.doesNotThrow(() => findMissing(files.flatMap(({ needs }) => needs)));
});

test("a file names its tier and its programs in comments", () => {
  const path = "packages/server/src/core/request.test.ts";
  const usual = { path, tier: "unit", hasOwnProcess: false, needs: [] };
  assert.deepEqual(readTestFile(path, ""), usual);
  assert.deepEqual(readTestFile(path, "// Process: own\n"), { ...usual, hasOwnProcess: true });
  assert.equal(readTestFile("packages/server/test/a.test.ts", "").tier, "main");
  const inBrowser = "// Needs: frameworks, browser with notifications\n";
  assert.equal(readTestFile("packages/console/test/a.test.ts", inBrowser).tier, "browser");
  const slow = readTestFile(path, "// Tier: slow\n// Needs: nginx, caddy\nimport it;\n");
  assert.deepEqual([slow.tier, slow.needs], ["slow", ["nginx", "caddy"]]);
  assert.throws(() => readTestFile(path, "// Tier: fast\n"), /unknown tier "fast"/);
});

test("the browser of the package starts on Linux x64, but has no notifications", async (t) => {
  const { CHROMIUM } = process.env;
  delete process.env.CHROMIUM;
  t.after(() => {
    if (CHROMIUM !== undefined) process.env.CHROMIUM = CHROMIUM;
  });
  const found = findBrowser({}, []);
  assert.equal(findBrowser({ notifications: true }, []), undefined);
  if (process.platform !== "linux" || process.arch !== "x64") {
    assert.equal(found, undefined);
    return;
  }
  assert.ok(found !== undefined && existsSync(found.executable));
  // Nothing of this machine's environment: neither PATH nor HOME.
  const { executable, environment: env } = found;
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  const browser = await chromium.launch({ executablePath: executable, args, env: { ...env } });
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.setContent("<h1>It runs</h1>");
  assert.equal(await page.innerText("h1"), "It runs");
});

test("with no program on the PATH but Node, tests run and missing programs are listed", () => {
  const files = [
    "packages/protocol/src/duration.test.ts",
    "packages/server/test/errors.test.ts",
    "tools/deploy/alerts.test.ts",
  ];
  const env = { PATH: dirname(process.execPath), HOME: "/nonexistent" };
  const args = [join(ROOT, "tools/test-run/run-tests.ts"), "sqlite", ...files];
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^WARNING: 1 test files did not run because programs are missing:$/m);
  assert.match(stdout, /^ {2}- tools\/deploy\/alerts\.test\.ts \(needs promtool\)$/m);
  assert.match(stdout, /^Install promtool: apt-get install /m);
  const complete = spawnSync(process.execPath, args, {
    env: { ...env, COUNTERSIGN_TEST_COMPLETE: "yes" },
  });
  assert.equal(complete.status, 1);
});
