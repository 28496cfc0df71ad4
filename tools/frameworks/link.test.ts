import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { linkFrameworks } from "./link.ts";

const ROOT = join(import.meta.dirname, "../..");

function writeManifest(folder: string, manifest: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
}

test("installed frameworks are linked to the folders that import them", (t) => {
  const root = temporaryFolder(t);
  const home = join(root, "frameworks");
  const installed = join(home, "node_modules/@vendor/agents");
  const link = join(root, "packages/sdk/src/node_modules/@vendor/agents");
  writeManifest(home, { dependencies: { "@vendor/agents": "1.2.0" } });
  assert.equal(linkFrameworks(root), false, "not installed");
  writeManifest(installed, { version: "1.1.0" });
  assert.equal(linkFrameworks(root), false, "another version");
  writeManifest(installed, { version: "1.2.0" });
  assert.equal(linkFrameworks(root), true);
  assert.equal(realpathSync(link), realpathSync(installed));
  rmSync(link);
  symlinkSync("nowhere", link);
  assert.equal(linkFrameworks(root), true);
  assert.equal(realpathSync(link), realpathSync(installed), "a broken link is replaced");
});

test("sources that the type check leaves out are checked with the frameworks", () => {
  const read = (path: string) =>
    JSON.parse(readFileSync(join(ROOT, path), "utf8")) as {
      readonly include: readonly string[];
      readonly exclude: readonly string[];
    };
  // The console has its own type check.
  const leftOut = read("tsconfig.json").exclude.filter((path) => path !== "packages/console/src");
  const checked = read("frameworks/tsconfig.json").include;
  assert.deepEqual(
    checked,
    leftOut.map((path) => `../${path}`),
  );
});
