/**
 * How V8 compiles the code of a command.
 */

import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { setFlagsFromString } from "node:v8";

/**
 * Node stores compiled code below the user's cache folder. Its default is below the folder for
 * temporary files, where other users of the machine could put code first.
 */
export function enableCache(): void {
  const { XDG_CACHE_HOME: given = "" } = process.env;
  try {
    const base = isAbsolute(given) ? given : join(homedir(), ".cache");
    enableCompileCache(join(base, "countersign", "compiled"));
  } catch {
    // A user without a home has no cache folder: Node compiles each time.
  }
}

/**
 * For a process that must end after its answer. An exit waits for V8's threads. A thread that
 * compiles may wait in turn for the main thread to collect garbage, and then the process never
 * ends.
 *
 * @see https://github.com/nodejs/node/issues/54918
 */
export function disableCompilerThreads(): void {
  for (const flag of ["--no-maglev", "--no-turbofan", "--no-concurrent-sparkplug"]) {
    setFlagsFromString(flag);
  }
}
