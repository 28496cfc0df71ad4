/**
 * The test files of the repository, with the tier and the programs that each of them names in a
 * comment on a line of its own:
 *
 *   // Tier: own process      a unit test that cannot share a process with others
 *   // Tier: slow             runs by `npm run test:slow` and not by `npm test`
 *   // Tier: nightly          runs by `npm run test:nightly` only
 *   // Needs: nginx, caddy    programs besides Node, see programs.ts
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Tier = "unit" | "main" | "slow" | "nightly";

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly tier: Tier;
  readonly needs: readonly string[];
}

/** Tests beside the code are unit tests: all of them run in one process. */
const UNIT = /^packages\/[^/]+\/src\//;

export function listTestFiles(root: string, patterns: readonly string[]): TestFile[] {
  const paths = globSync([...patterns], { cwd: root }).sort();
  return paths.map((path) => readTestFile(path, readFileSync(join(root, path), "utf8")));
}

/** @throws Error for a tier that does not exist */
export function readTestFile(path: string, text: string): TestFile {
  const tier = /^\/\/ Tier: (.+)$/m.exec(text)?.[1];
  const isListed = tier === "slow" || tier === "nightly";
  if (tier !== undefined && !isListed && tier !== "own process") {
    throw new Error(`${path}: unknown tier "${tier}". Use "slow", "nightly" or "own process".`);
  }
  return {
    path,
    tier: isListed ? tier : UNIT.test(path) && tier === undefined ? "unit" : "main",
    needs: /^\/\/ Needs: (.+)$/m.exec(text)?.[1]?.split(", ") ?? [],
  };
}
