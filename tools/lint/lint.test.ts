// Needs: git
/** Plants violations and runs Biome with the repository's own configuration. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import test from "node:test";

const ROOT = resolve(import.meta.dirname, "../..");
const BIOME = join(ROOT, "node_modules/@biomejs/biome/bin/biome");

const long = (lines: number) => `export const it = [\n${"  1,\n".repeat(lines - 2)}];\n`;
const longFunction = (lines: number) =>
  `export function it(): void {\n${"  go();\n".repeat(lines)}}\ndeclare function go(): void;\n`;

/** The text of a file in the folder `planted`. */
const planted = (name: string) =>
  readFileSync(join(import.meta.dirname, "planted", `${name}.txt`), "utf8");

const SERVER = "packages/server/src";

/** Files with the rules that Biome must report for them. */
const PLANTED: Readonly<Record<string, readonly [text: string, ...rules: string[]]>> = {
  [`${SERVER}/http/a.ts`]: ['import { b } from "./b.ts";\nexport const a = b;\n', "noImportCycles"],
  [`${SERVER}/http/b.ts`]: ['import { a } from "./a.ts";\nexport const b = a;\n', "noImportCycles"],
  [`${SERVER}/http/types-a.ts`]: [
    'import type { B } from "./types-b.ts";\nexport type A = B | 1;\n',
    "noImportCycles",
  ],
  [`${SERVER}/http/types-b.ts`]: [
    'import type { A } from "./types-a.ts";\nexport type B = A | 2;\n',
    "noImportCycles",
  ],
  "tools/long.ts": [long(501), "noExcessiveLinesPerFile"],
  "tools/not-long.ts": [long(500)],
  "tools/long-function.ts": [longFunction(81), "noExcessiveLinesPerFunction"],
  "tools/not-long-function.ts": [longFunction(78)],
  "tools/badName.ts": ["export const it = 1;\n", "useFilenamingConvention"],
  [`${SERVER}/operations/requests/castVerdict.ts`]: ["export function castVerdict(): void {}\n"],
  [`${SERVER}/operations/requests/castVerdict.test.ts`]: ["export const it = 1;\n"],
  [`${SERVER}/operations/requests/endHold.ts`]: [
    "export function other(): void {}\n",
    "useFilenamingConvention",
  ],
  [`${SERVER}/steps/requests/recordVote.ts`]: ["export function recordVote(): void {}\n"],
  "tools/focused.test.ts": [planted("focused.test.ts"), "noFocusedTests"],
  "tools/skipped.test.ts": [planted("skipped.test.ts"), "noSkippedTests"],
  "tools/ignored.ts": [planted("ignored.ts"), "noTsIgnore"],
  "tools/any.ts": [planted("any.ts"), "noExplicitAny"],
  "tools/default.ts": [planted("default.ts"), "noDefaultExport"],
  "tools/spread.ts": [planted("spread.ts"), "plugin", "plugin"],
  "tools/typed-spread.ts": [planted("typed-spread.ts"), "plugin"],
  "tools/spread-of-values.ts": [planted("spread-of-values.ts")],
  [`${SERVER}/http/clock.ts`]: ["export const now = () => Date.now();\n", "plugin"],
  [`${SERVER}/http/date.ts`]: [
    "export const now = () => [new Date(), Date()];\n",
    "plugin",
    "plugin",
  ],
  [`${SERVER}/clock.ts`]: ["export const now = () => Date.now();\n"],
  [`${SERVER}/http/known-date.ts`]: ["export const at = new Date(0);\n"],
  [`${SERVER}/http/random.ts`]: ["export const it = Math.random;\n", "plugin"],
  [`${SERVER}/http/module.ts`]: ['export const it = process.getBuiltinModule("fs");\n', "plugin"],
  [`${SERVER}/http/environment.ts`]: ["export const { env } = process;\n", "plugin"],
  [`${SERVER}/http/environment-member.ts`]: [
    "export const it = process.env.PORT;\n",
    "noProcessEnv",
  ],
  [`${SERVER}/config/read-config.ts`]: ["export const it = process.env.PORT;\n"],
  [`${SERVER}/http/outbound.ts`]: ["export const it = fetch;\n", "noRestrictedGlobals"],
  [`${SERVER}/oidc/provider-fetch.ts`]: ["export const it = fetch;\n"],
  [`${SERVER}/core/impure.ts`]: ["export const it = setTimeout;\n", "noRestrictedGlobals"],
  [`${SERVER}/policy/impure.ts`]: ["export const it = globalThis;\n", "noRestrictedGlobals"],
  [`${SERVER}/core/member.ts`]: ["export const it = (a: { fetch: 1 }) => a.fetch;\n"],
  [`${SERVER}/core/it.test.ts`]: ["export const it = [Date.now(), Math.random(), fetch];\n"],
};

test("Biome reports each planted violation, and nothing else", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "lint-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(join(ROOT, "biome.json"), join(folder, "biome.json"));
  cpSync(import.meta.dirname, join(folder, "tools/lint"), { recursive: true });
  rmSync(join(folder, "tools/lint/lint.test.ts"));
  spawnSync("git", ["init", "--quiet"], { cwd: folder });
  for (const [path, [text]] of Object.entries(PLANTED)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const found = lint(folder);
  const expected = Object.entries(PLANTED).flatMap(([path, [, ...rules]]) =>
    rules.map((rule) => `${path}: ${rule}`),
  );
  assert.deepEqual(found.sort(), expected.sort());
});

/** @returns path and rule of every error */
function lint(folder: string): string[] {
  const args = [BIOME, "lint", ".", "--reporter=github", "--max-diagnostics=none"];
  const { stdout, status } = spawnSync(process.execPath, [...args, "--diagnostic-level=error"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(status, 1, stdout);
  const errors = stdout.matchAll(/^::error title=(?:lint\/\w+\/)?(\w+),file=([^,]+),/gm);
  return [...errors].map(
    ([, rule, file = ""]) => `${file.replace(/^.*?\/(?=packages\/|tools\/)/, "")}: ${rule}`,
  );
}
