/**
 * The test files of the repository, with the tier and the programs that each of them names in a
 * comment on a line of its own:
 *
 *   // Tier: slow             runs by `npm run test:slow` and not by `npm test`
 *   // Tier: nightly          runs by `npm run test:nightly` only
 *   // Process: own           changes what the other files of its process use
 *   // Needs: nginx, caddy    programs besides Node: see programs.ts. With a browser, by
 *                            `npm run test:browser` and not by `npm test`
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Tier = "unit" | "main" | "browser" | "slow" | "nightly";

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly tier: Tier;
  readonly hasOwnProcess: boolean;
  readonly needs: readonly string[];
}

/** Tests beside the code are unit tests. */
const UNIT = /^packages\/[^/]+\/src\//;

export function listTestFiles(root: string, patterns: readonly string[]): TestFile[] {
  const paths = globSync([...patterns], { cwd: root }).sort();
  return paths.map((path) => readTestFile(path, readFileSync(join(root, path), "utf8")));
}

/** @throws Error for a tier that does not exist */
export function readTestFile(path: string, text: string): TestFile {
  const tier = /^\/\/ Tier: (.+)$/m.exec(text)?.[1];
  const isListed = tier === "slow" || tier === "nightly";
  if (tier !== undefined && !isListed) {
    throw new Error(`${path}: unknown tier "${tier}". Use "slow" or "nightly".`);
  }
  const needs = /^\/\/ Needs: (.+)$/m.exec(text)?.[1]?.split(", ") ?? [];
  return {
    path,
    tier: tier ?? tierOf(path, needs),
    hasOwnProcess: /^\/\/ Process: own$/m.test(text),
    needs,
  };
}

function tierOf(path: string, needs: readonly string[]): Tier {
  if (needs.some((program) => program.startsWith("browser"))) return "browser";
  return UNIT.test(path) ? "unit" : "main";
}
