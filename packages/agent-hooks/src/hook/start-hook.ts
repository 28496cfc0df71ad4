/**
 * Starts the hook: loads what every call needs of Node, prepares V8, and then loads the hook.
 */

import { parseArgs } from "node:util";
import { disableCompilerThreads, enableCache } from "@countersign/command-line/compilation";

/**
 * The order matters. Node contains its own modules in compiled form. V8 rejects this form after a
 * change of its flags, and compiles each module again.
 */
export async function startHook(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  program: string,
): Promise<never> {
  loadNodeModules();
  disableCompilerThreads();
  enableCache();
  const { runHook } = await import("./run-hook.ts");
  return runHook(args, environment, program);
}

/** Node loads these modules when a program first reads the property. */
function loadNodeModules(): readonly unknown[] {
  return [parseArgs, process.stdin];
}
