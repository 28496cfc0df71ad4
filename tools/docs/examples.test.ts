/**
 * Each example is a complete project: a copy of its folder installs and starts elsewhere.
 */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const readManifest = (path: string) => JSON.parse(read(path)) as Manifest;

const FOLDERS = globSync(["examples/*/README.md", "examples/agents/*/README.md"], { cwd: ROOT })
  .map((path) => dirname(path))
  .sort();

/** The tested version of a package, which is the one in this repository. */
function testedVersion(name: string): string | undefined {
  const folder = name === "countersign" ? "cli" : name.replace(/^@countersign\//, "");
  if (folder !== name) return readManifest(`packages/${folder}/package.json`).version;
  const manifests = ["frameworks/package.json", "package.json", "packages/console/package.json"];
  return manifests.map(readManifest).flatMap(({ dependencies, devDependencies }) => {
    return dependencies?.[name] ?? devDependencies?.[name] ?? [];
  })[0];
}

/** The names of the packages that the modules of a folder import. */
function importedPackages(folder: string): Set<string> {
  const modules = globSync(`${folder}/**/*.{ts,tsx,mjs}`, {
    cwd: ROOT,
    exclude: (path) => path.endsWith("node_modules"),
  });
  const specifiers = modules.flatMap((path) => {
    return [...read(path).matchAll(/\bfrom "([^".][^"]*)"/g)].map(([, name = ""]) => name);
  });
  const isPackage = (name: string) => !name.startsWith("node:") && !builtinModules.includes(name);
  const names = specifiers.filter(isPackage).map((specifier) => {
    return specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
  });
  return new Set(names);
}

test("examples/README.md lists every example, and each has a start command", () => {
  const index = read("examples/README.md");
  assert.ok(FOLDERS.length >= 8, FOLDERS.join());
  const manifests = globSync(["examples/*/package.json", "examples/agents/*/package.json"], {
    cwd: ROOT,
  });
  assert.deepEqual(manifests.map((path) => dirname(path)).sort(), FOLDERS);
  for (const folder of FOLDERS) {
    const listed = `(${folder.replace("examples/", "")}/README.md)`;
    assert.ok(index.includes(listed), `examples/README.md has no row for ${folder}`);
    const manifest = readManifest(`${folder}/package.json`);
    assert.equal(manifest.name, `countersign-example-${folder.split("/").at(-1)}`);
    assert.equal(manifest.private, true, folder);
    assert.ok(manifest.scripts?.start !== undefined, `${folder} has no start script`);
    assert.match(read(`${folder}/README.md`), /`npm start`/, folder);
    assert.equal(existsSync(join(ROOT, folder, "package-lock.json")), false, folder);
  }
});

test("an example declares the packages that it imports, in the tested versions", () => {
  for (const folder of FOLDERS) {
    const { dependencies = {} } = readManifest(`${folder}/package.json`);
    for (const name of importedPackages(folder)) {
      assert.ok(name in dependencies, `${folder}/package.json does not declare ${name}`);
    }
    for (const [name, version] of Object.entries(dependencies)) {
      assert.equal(version, testedVersion(name), `${folder}: ${name}`);
    }
  }
});

test("an example names `npm run frameworks` if it needs a package from there", () => {
  const installed = readManifest("package.json").devDependencies ?? {};
  const frameworks = readManifest("frameworks/package.json").dependencies ?? {};
  for (const folder of FOLDERS) {
    const { dependencies = {} } = readManifest(`${folder}/package.json`);
    const needs = Object.keys(dependencies).some((name) => {
      return name in frameworks && !(name in installed);
    });
    assert.equal(read(`${folder}/README.md`).includes("`npm run frameworks`"), needs, folder);
  }
});
