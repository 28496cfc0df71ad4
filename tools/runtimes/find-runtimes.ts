/**
 * Finds the JavaScript runtimes that `npm run runtimes` installs, with their versions. They are not
 * in a workspace, because they are large and only one test needs them.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const HOME = resolve(import.meta.dirname, "../../runtimes");

/** The names of the packages, by platform and architecture of Node. */
const PACKAGES: Readonly<Record<string, Readonly<Record<RuntimeName, string>>>> = {
  "darwin-arm64": {
    node22: "node-22-darwin-arm64",
    bun: "@oven/bun-darwin-aarch64",
    deno: "@deno/darwin-arm64",
    workerd: "@cloudflare/workerd-darwin-arm64",
  },
  "darwin-x64": {
    node22: "node-22-darwin-x64",
    bun: "@oven/bun-darwin-x64",
    deno: "@deno/darwin-x64",
    workerd: "@cloudflare/workerd-darwin-64",
  },
  "linux-arm64": {
    node22: "node-22-linux-arm64",
    bun: "@oven/bun-linux-aarch64",
    deno: "@deno/linux-arm64-glibc",
    workerd: "@cloudflare/workerd-linux-arm64",
  },
  "linux-x64": {
    node22: "node-22-linux-x64",
    bun: "@oven/bun-linux-x64",
    deno: "@deno/linux-x64-glibc",
    workerd: "@cloudflare/workerd-linux-64",
  },
};

/** The path of the program in each package. */
const PROGRAMS: Readonly<Record<RuntimeName, string>> = {
  node22: "bin/node",
  bun: "bin/bun",
  deno: "deno",
  workerd: "bin/workerd",
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
 * @returns undefined if a runtime is missing, or has another version than in this package.json
 */
export function findRuntimes(
  home: string = HOME,
  platform = `${process.platform}-${process.arch}`,
): Runtimes | undefined {
  const packages = PACKAGES[platform];
  if (packages === undefined) return undefined;
  const { optionalDependencies = {} } = readManifest(home);
  const programs = { ...PROGRAMS };
  for (const name of Object.keys(PROGRAMS) as RuntimeName[]) {
    const folder = join(home, "node_modules", packages[name]);
    const program = join(folder, PROGRAMS[name]);
    if (!existsSync(program)) return undefined;
    // The value of an alias is `npm:NAME@VERSION`.
    const wanted = optionalDependencies[packages[name]]?.replace(/^.*@/, "");
    if (readManifest(folder).version !== wanted) return undefined;
    programs[name] = program;
  }
  return programs;
}
