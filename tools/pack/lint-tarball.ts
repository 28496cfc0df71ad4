/**
 * Runs publint and arethetypeswrong on a tarball.
 */

import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/**
 * The packages are ES modules only, on purpose: Node 22 and later can `require` them. These ways to
 * resolve a module are of older programs.
 */
const UNSUPPORTED = ["node10", "node16-cjs"];

/** A bundle that only our programs load. TypeScript code does not import it. */
const UNTYPED = "./hook";

export async function lintTarball(file: string): Promise<string[]> {
  const bytes = readFileSync(file);
  const tarball = new Uint8Array(bytes).buffer;
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  const found = messages.map((message) => `publint: ${formatMessage(message, pkg)}`);
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(bytes)));
  if (analysis.types === false) return found;
  const problems = analysis.problems.filter(
    (problem) =>
      !("resolutionKind" in problem && UNSUPPORTED.includes(problem.resolutionKind)) &&
      !(problem.kind === "UntypedResolution" && problem.entrypoint === UNTYPED),
  );
  return [...found, ...problems.map((problem) => `types: ${JSON.stringify(problem)}`)];
}
