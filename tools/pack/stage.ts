/**
 * Stages a package as it is published, and makes its tarball. The repository itself runs its
 * sources; nothing that is made here is read by it.
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
import { join } from "node:path";
import { linkFrameworks } from "../frameworks/link.ts";
import { build, ROOT, type StagedTypes } from "./build.ts";
import type { BundleOrder } from "./bundle.ts";
import { type Manifest, publishedManifest, typesOf } from "./manifest.ts";
import type { Asset, PublishedPackage } from "./packages.ts";
import { keepReachableTypes } from "./reachable-types.ts";

/** Its own process, because the bundler is asynchronous and packing is not. */
const BUNDLE = join(import.meta.dirname, "bundle.ts");

export interface Tarball {
  readonly name: string;
  readonly file: string;
  /** Bytes of the tarball. */
  readonly size: number;
  /** Bytes of what is in it. */
  readonly unpackedSize: number;
  /** Paths in the package. */
  readonly paths: readonly string[];
}

/**
 * @param packages in the order in which they build on one another
 * @param out takes the tarballs
 * @param scratch an empty folder
 * @throws Error without the frameworks, because the types of the SDK refer to theirs
 */
export function pack(
  packages: readonly PublishedPackage[],
  out: string,
  scratch: string,
): Tarball[] {
  if (!linkFrameworks()) {
    throw new Error("The frameworks are not installed. Run: npm run frameworks");
  }
  const staged: Record<string, readonly string[]> = {};
  mkdirSync(out, { recursive: true });
  mkdirSync(scratch, { recursive: true });
  // The types of a staged package name other packages, such as its dependencies.
  mkdirSync(scratch, { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(scratch, "node_modules"));
  const stages = packages.map((entry) => {
    const stage = join(scratch, entry.folder);
    const { name, exports } = stagePackage(entry, stage, staged, join(scratch, "build"));
    for (const [subpath, target] of Object.entries(exports ?? {})) {
      const types = target.replace("/src/", "/dist/").replace(/\.ts$/, ".d.ts");
      if (types !== target) staged[join(name, subpath)] = [join(stage, types)];
    }
    return stage;
  });
  return packStaged(stages, out);
}

function stagePackage(
  entry: PublishedPackage,
  stage: string,
  staged: StagedTypes,
  scratch: string,
): Manifest {
  const source = join(ROOT, "packages", entry.folder);
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Manifest;
  const dist = join(stage, "dist");
  mkdirSync(dist, { recursive: true });
  if (entry.folder !== "console") build(entry, dist, staged, scratch);
  for (const asset of entry.assets) copyAsset(asset, dist);
  if (entry.bundled !== undefined) {
    const order: BundleOrder = { dist, home: source, dependencies: entry.bundled };
    execFileSync(process.execPath, [BUNDLE, JSON.stringify(order)], { stdio: "inherit" });
  }
  if (manifest.bin !== undefined)
    cpSync(join(source, "bin"), join(stage, "bin"), { recursive: true });
  const published = publishedManifest(manifest, entry);
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  keepReachableTypes(stage, typesOf(published));
  const readme = readFileSync(join(source, "README.md"), "utf8");
  writeFileSync(join(stage, "README.md"), linksSpelledOut(readme));
  cpSync(join(ROOT, "LICENSE"), join(stage, "LICENSE"));
  return manifest;
}

function copyAsset({ from, to, names }: Asset, dist: string): void {
  const folder = join(ROOT, from);
  if (!existsSync(folder)) throw new Error(`${from} is not there; npm run build makes it`);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && names.test(file.name))
    .map((file) => join(file.parentPath, file.name).slice(folder.length + 1));
  if (paths.length === 0) throw new Error(`nothing of ${from} belongs into the package`);
  for (const path of paths) cpSync(join(folder, path), join(dist, to, path));
}

/** A link out of the package leads nowhere once it is installed, so it becomes the path's name. */
export function linksSpelledOut(readme: string): string {
  return readme.replace(/\[([^\]]+)\]\((?:\.\.\/)+([^)]+)\)/g, "$1 (`$2` in the repository)");
}

interface NpmPacked {
  readonly name: string;
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** All at once: npm takes longer to start than to pack. */
function packStaged(stages: readonly string[], out: string): Tarball[] {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", out, ...stages];
  // The other output is about the settings of this machine.
  const stdio = ["ignore", "pipe", "ignore"] as const;
  const printed = execFileSync("npm", args, { encoding: "utf8", stdio: [...stdio] });
  const packed = Object.values(JSON.parse(printed) as Record<string, NpmPacked>);
  if (packed.length !== stages.length) throw new Error(`npm packed ${packed.length} packages`);
  return packed.map(({ name, filename, size, unpackedSize, files }) => {
    const paths = files.map(({ path }) => path).sort();
    return { name, file: join(out, filename), size, unpackedSize, paths };
  });
}
