/**
 * Links the agent frameworks to the folders that import them. `npm run frameworks` installs them
 * outside of the workspaces, because they are large and do not support Node 20.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Folders with files that import a framework. None is the folder of a workspace, because
 * `npm install` would follow the links there and remove the packages behind them.
 */
const IMPORTERS = ["examples", "packages/sdk/src", "packages/sdk/test"];

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/**
 * @param root of a checkout
 * @returns false if a framework is missing or has another version than `frameworks/package.json`
 */
export function linkFrameworks(root: string = ROOT): boolean {
  const home = join(root, "frameworks");
  const { dependencies = {} } = readManifest(home);
  for (const [name, version] of Object.entries(dependencies)) {
    const installed = join(home, "node_modules", name);
    if (!existsSync(installed) || readManifest(installed).version !== version) return false;
  }
  for (const importer of IMPORTERS) {
    for (const name of Object.keys(dependencies)) {
      link(join(root, importer, "node_modules", name), join(home, "node_modules", name));
    }
  }
  return true;
}

function link(path: string, target: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  try {
    symlinkSync(relative(dirname(path), target), path);
  } catch (error) {
    // Another process created it, or it is a link to a folder that was removed.
    if (existsSync(path)) return;
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    rmSync(path);
    symlinkSync(relative(dirname(path), target), path);
  }
}

if (import.meta.main && !linkFrameworks()) {
  process.stderr.write("The frameworks are not installed. Run: npm run frameworks\n");
  process.exitCode = 1;
}
