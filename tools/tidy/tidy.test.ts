// Needs: git
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { judge } from "./fixture.ts";
import { print, tidy } from "./tidy.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const COMMAND = join(import.meta.dirname, "tidy.ts");

test("the repository is tidy", async () => {
  const violations = await tidy(ROOT);
  assert.equal(violations.length, 0, `\n${violations.map(print).join("\n")}`);
});

test("a file that does not parse is reported", () => {
  const faults = judge((source) => source.faults, "tools/it.ts", "go();\nfunction ( {");
  assert.deepEqual(faults[0], "2: does not parse: Identifier expected.");
});

test("the command applies every rule to every file, prints violations and exits 1", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tidy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  spawnSync("git", ["init", "--quiet"], { cwd: folder });
  const files = {
    ".gitignore": "ignored/\n",
    "ignored/it.ts": "// HA\u0043K\n",
    "packages/protocol/src/problems.ts": "// Problems.\nexport const PROBLEMS = { gone: 1 };\n",
    "packages/server/src/config/options.ts":
      '// Options.\nexport const OPTIONS = [{ name: "port" }];\n',
    "packages/server/src/core/it.ts": 'import "../http/it.ts";\nimport "node:fs";\n',
    "packages/server/src/http/it.ts": `// HA\u0043K\n// ${"x".repeat(98)}\n`,
    "packages/server/src/storage/migrations/0001_a.sql": "",
    "packages/server/src/storage/migrations/0001_b.sql": "",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { status, stdout } = spawnSync(process.execPath, [COMMAND, folder], { encoding: "utf8" });
  assert.deepEqual(stdout.trimEnd().split("\n"), [
    "docs/reference/config.md:1: option port is not documented",
    "docs/reference/errors.md:1: error code gone is not documented",
    "packages/server/src/core/it.ts:1: core may not import http",
    "packages/server/src/core/it.ts:1: states no purpose: " +
      "begin it, or the docstring of its only export, with a sentence",
    'packages/server/src/core/it.ts:2: core/ and policy/ are pure: no import of "node:fs"',
    "packages/server/src/http/it.ts:1: note to oneself: do it or plan it elsewhere: HA\u0043K",
    "packages/server/src/http/it.ts:2: 101 characters; a line has at most 100",
    "packages/server/src/storage/migrations/0001_b.sql:1: 0001_a.sql has the same number",
  ]);
  assert.equal(status, 1);
});
