/**
 * Finds the JavaScript runtimes that `npm run runtimes` installs, with their versions. They are not
 * in a workspace, because they take 520 MB and only one test needs them.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const HOME = resolve(import.meta.dirname, "../../runtimes");

/** By platform and architecture of Node: names of packages, and the program in each of them. */
const PACKAGES: Readonly<Record<string, Readonly<Record<RuntimeName, string>>>> = {
  "darwin-arm64": {
    node22: "node-22-darwin-arm64/bin/node",
    bun: "@oven/bun-darwin-aarch64/bin/bun",
    deno: "@deno/darwin-arm64/deno",
    workerd: "@cloudflare/workerd-darwin-arm64/bin/workerd",
  },
  "darwin-x64": {
    node22: "node-22-darwin-x64/bin/node",
    bun: "@oven/bun-darwin-x64/bin/bun",
    deno: "@deno/darwin-x64/deno",
    workerd: "@cloudflare/workerd-darwin-64/bin/workerd",
  },
  "linux-arm64": {
    node22: "node-22-linux-arm64/bin/node",
    bun: "@oven/bun-linux-aarch64/bin/bun",
    deno: "@deno/linux-arm64-glibc/deno",
    workerd: "@cloudflare/workerd-linux-arm64/bin/workerd",
  },
  "linux-x64": {
    node22: "node-22-linux-x64/bin/node",
    bun: "@oven/bun-linux-x64/bin/bun",
    deno: "@deno/linux-x64-glibc/deno",
    workerd: "@cloudflare/workerd-linux-64/bin/workerd",
  },
};

export type RuntimeName = "node22" | "bun" | "deno" | "workerd";

/** Paths of programs. */
export type Runtimes = Readonly<Record<RuntimeName, string>>;

/** The types of Cloudflare Workers. */
export const WORKERS_TYPES = join(HOME, "node_modules/@cloudflare/workers-types");

interface Manifest {
  readonly version?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/**
 * @param home the folder with the package.json of the runtimes
 * @returns undefined if one is missing, or has another version than this package.json
 */
export function findRuntimes(
  home: string = HOME,
  platform = `${process.platform}-${process.arch}`,
): Runtimes | undefined {
  const programs = PACKAGES[platform];
  if (programs === undefined) return undefined;
  const { optionalDependencies = {} } = readManifest(home);
  const found: Partial<Record<RuntimeName, string>> = {};
  for (const [name, path] of Object.entries(programs)) {
    const file = join(home, "node_modules", path);
    if (!existsSync(file)) return undefined;
    const packageName = path
      .split("/")
      .slice(0, path.startsWith("@") ? 2 : 1)
      .join("/");
    const { version } = readManifest(join(home, "node_modules", packageName));
    if (optionalDependencies[packageName]?.replace(/^.*@/, "") !== version) return undefined;
    found[name as RuntimeName] = file;
  }
  return found as Runtimes;
}
