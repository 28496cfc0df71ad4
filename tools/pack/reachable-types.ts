/**
 * Leaves the declarations that an importer of a package can reach. Most modules are internal, and
 * without their declarations an installation is 2 % smaller.
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const DECLARATION = ".d.ts";

/** Module names in declarations, as nameModules writes them. */
const IMPORTED = /\b(?:from |import\(|import )"(\.[^"\n]*)\.js"/g;

/**
 * @param stage folder of a package
 * @param targets of its exports and imports; `*` is any path
 */
export function keepReachableTypes(stage: string, targets: readonly string[]): void {
  const dist = join(stage, "dist");
  const names = readdirSync(dist, { recursive: true, encoding: "utf8" });
  const all = names.filter((name) => name.endsWith(DECLARATION)).map((name) => join(dist, name));
  const patterns = targets.map((target) => {
    const [start = "", end = ""] = resolve(stage, target).split("*");
    return { start, end: target.includes("*") ? end : undefined };
  });
  const isEntry = (file: string) =>
    patterns.some(({ start, end }) =>
      end === undefined ? file === start : file.startsWith(start) && file.endsWith(end),
    );
  const reached = new Set(all.filter(isEntry));
  // A set also iterates over what is added meanwhile.
  for (const file of reached) {
    for (const [, module] of readFileSync(file, "utf8").matchAll(IMPORTED)) {
      reached.add(resolve(dirname(file), `${module}${DECLARATION}`));
    }
  }
  for (const file of all) if (!reached.has(file)) rmSync(file);
}
