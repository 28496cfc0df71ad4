import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { findRuntimes } from "./find-runtimes.ts";

const HOME = resolve(import.meta.dirname, "../../runtimes");

interface Manifest {
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

test("runtimes are found when all of them are installed in the versions of package.json", (t) => {
  const home = temporaryFolder(t);
  const manifest = readFileSync(join(HOME, "package.json"), "utf8");
  writeFileSync(join(home, "package.json"), manifest);
  const { optionalDependencies } = JSON.parse(manifest) as Manifest;
  const find = () => findRuntimes(home, "linux-arm64");
  const install = (name: string, program: string, version?: string) => {
    const folder = join(home, "node_modules", name);
    mkdirSync(dirname(join(folder, program)), { recursive: true });
    writeFileSync(join(folder, program), "");
    const declared = optionalDependencies[name]?.replace(/^.*@/, "");
    const content = JSON.stringify({ version: version ?? declared });
    writeFileSync(join(folder, "package.json"), content);
  };
  assert.equal(find(), undefined, "nothing is installed");
  install("node-22-linux-arm64", "bin/node");
  install("@oven/bun-linux-aarch64", "bin/bun");
  install("@deno/linux-arm64-glibc", "deno");
  assert.equal(find(), undefined, "one is missing");
  install("@cloudflare/workerd-linux-arm64", "bin/workerd", "1.0.0");
  assert.equal(find(), undefined, "another version");
  install("@cloudflare/workerd-linux-arm64", "bin/workerd");
  const deno = join(home, "node_modules/@deno/linux-arm64-glibc/deno");
  assert.equal(find()?.deno, deno);
  assert.equal(findRuntimes(home, "aix-ppc64"), undefined, "an unknown platform");
});
