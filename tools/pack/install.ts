/**
 * Empty projects into which packages are installed from their tarballs, without a network.
 */

import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./build.ts";
import type { Manifest } from "./manifest.ts";
import type { Tarball } from "./stage.ts";

/** Installs by npm: for packages that depend only on one another. */
export function installByNpm(folder: string, tarballs: readonly Tarball[]): void {
  const dependencies = Object.fromEntries(tarballs.map(({ name, file }) => [name, `file:${file}`]));
  mkdirSync(folder, { recursive: true });
  const project = { private: true, type: "module", dependencies };
  writeFileSync(join(folder, "package.json"), JSON.stringify(project));
  const flags = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier"];
  execFileSync("npm", ["install", ...flags], { cwd: folder, stdio: "pipe" });
}

/**
 * By hand, for packages that depend on others: those are linked to the repository's, and only those
 * that a package.json declares, so that one which is not declared is missing here as well.
 */
export function installLinked(folder: string, tarballs: readonly Tarball[]): void {
  extract(folder, tarballs);
  for (const { name } of tarballs) {
    const home = join(folder, "node_modules", name);
    for (const dependency of dependenciesOf(home)) link(folder, dependency);
  }
}

/**
 * As npm does, but without a network: extracts the tarballs and copies all of their dependencies
 * from the repository. Nothing outside of the folder can be loaded.
 */
export function installCopied(folder: string, tarballs: readonly Tarball[]): void {
  extract(folder, tarballs);
  for (const { name } of tarballs) copyDependencies(folder, join(folder, "node_modules", name));
}

/** One package with those of its dependencies, direct and indirect, that are tarballs. */
export function installWithDependencies(
  folder: string,
  name: string,
  tarballs: readonly Tarball[],
): void {
  const needed: Tarball[] = [];
  const pending = [name];
  for (const each of pending) {
    const tarball = tarballs.find((one) => one.name === each);
    if (tarball === undefined || needed.includes(tarball)) continue;
    needed.push(tarball);
    extract(folder, [tarball]);
    pending.push(...dependenciesOf(join(folder, "node_modules", each)));
  }
  for (const each of needed) copyDependencies(folder, join(folder, "node_modules", each.name));
}

function copyDependencies(folder: string, home: string): void {
  const nested = join(home, "node_modules");
  for (const dependency of dependenciesOf(home)) {
    const place = join(folder, "node_modules", dependency);
    if (existsSync(place) || existsSync(join(nested, dependency))) continue;
    if (dependency.startsWith("@countersign/")) throw new Error(`no tarball of ${dependency}`);
    cpSync(join(ROOT, "node_modules", dependency), place, { recursive: true });
    copyDependencies(folder, place);
  }
  if (!existsSync(nested)) return;
  for (const name of packagesIn(nested)) copyDependencies(folder, join(nested, name));
}

/** Names of the packages in a folder `node_modules`, with and without a scope. */
function packagesIn(modules: string): string[] {
  return readdirSync(modules).flatMap((name) => {
    if (!name.startsWith("@")) return [name];
    return readdirSync(join(modules, name)).map((each) => `${name}/${each}`);
  });
}

function extract(folder: string, tarballs: readonly Tarball[]): void {
  for (const { name, file } of tarballs) {
    const home = join(folder, "node_modules", name);
    mkdirSync(home, { recursive: true });
    execFileSync("tar", ["-xzf", file, "-C", home, "--strip-components=1"]);
  }
}

export function readManifest(home: string): Manifest {
  return JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
}

/** Links the frameworks that the package supports, as an agent would install them. */
export function linkPeers(folder: string, name: string): void {
  const { peerDependencies = {} } = readManifest(join(folder, "node_modules", name));
  for (const peer of Object.keys(peerDependencies)) link(folder, peer);
}

/** Links the dependencies that the package.json of the folder declares and that are missing. */
export function linkDependencies(folder: string): void {
  for (const dependency of dependenciesOf(folder)) link(folder, dependency);
}

function dependenciesOf(home: string): string[] {
  return Object.keys(readManifest(home).dependencies ?? {});
}

function link(folder: string, dependency: string): void {
  const place = join(folder, "node_modules", dependency);
  if (existsSync(place)) return;
  const homes = [ROOT, join(ROOT, "frameworks")].map((home) => join(home, "node_modules"));
  const target = homes.map((home) => join(home, dependency)).find((path) => existsSync(path));
  if (target === undefined) {
    throw new Error(`${dependency} is not installed. Run npm ci and npm run frameworks.`);
  }
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(target, place);
}
