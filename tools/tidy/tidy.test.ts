import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { judge } from "./fixture.ts";
import { print, tidy } from "./tidy.ts";

const ROOT = resolve(import.meta.dirname, "../..");

test("the repository is tidy", async () => {
  const violations = await tidy(ROOT);
  assert.equal(violations.length, 0, `\n${violations.map(print).join("\n")}`);
});

test("a file that does not parse is named", () => {
  const faults = judge((source) => source.faults, "tools/it.ts", "go();\nfunction ( {");
  assert.deepEqual(faults[0], "2: does not parse: Identifier expected.");
});

test("every rule is asked about every file, tables included", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "tidy-"));
  t.after(() => rmSync(folder, { recursive: true }));
  spawnSync("git", ["init", "--quiet"], { cwd: folder });
  const files = {
    ".gitignore": "ignored/\n",
    "ignored/it.ts": "let it: any;\n",
    "packages/protocol/src/problems.ts": "export const PROBLEMS = { gone: 1 };\n",
    "packages/server/src/config/options.ts": 'export const OPTIONS = [{ name: "port" }];\n',
    "packages/server/src/core/bad-one.ts": 'import "../http/it.ts";\nlet it: any = Date.now();\n',
    "packages/server/src/operations/it.ts": "export const it = 1;\n",
    "packages/server/src/http/badName.ts": "export default Math.random();\n// HACK\n",
    "packages/server/test/it.test.ts": 'test.only("it", () => {});\n// @ts-ignore\n',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  assert.deepEqual((await tidy(folder)).map(print), [
    "docs/reference/config.md:1: option port is not documented",
    "docs/reference/errors.md:1: error code gone is not documented",
    "packages/server/src/core/bad-one.ts:1: core may not import http",
    "packages/server/src/core/bad-one.ts:2: Date.now in a pure room: pass it in",
    "packages/server/src/core/bad-one.ts:2: any: say what it is, or unknown",
    "packages/server/src/http/badName.ts:1: Math.random: use the injected Random",
    "packages/server/src/http/badName.ts:1: default export: export it by name",
    "packages/server/src/http/badName.ts:1: file name is not kebab-case",
    "packages/server/src/http/badName.ts:2: HACK: do it, or plan it outside the code",
    "packages/server/src/operations/it.ts:1: exports no function it",
    "packages/server/test/it.test.ts:1: only: a test runs or is not there",
    "packages/server/test/it.test.ts:2: silenced compiler: mend the type, or expect the one error",
  ]);
});

test("the command prints what it finds and exits accordingly", async () => {
  const violations = (await tidy(ROOT)).map(print);
  const command = join(import.meta.dirname, "tidy.ts");
  const { status, stdout } = spawnSync(process.execPath, [command], { encoding: "utf8" });
  assert.equal(status, violations.length === 0 ? 0 : 1);
  assert.deepEqual(stdout.split("\n").filter(Boolean), violations);
});
