/**
 * Node stores compiled code below the user's cache folder. Its default is below the folder for
 * temporary files, where other users of the machine could put code first.
 */

import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export function enableCache(): void {
  const { XDG_CACHE_HOME: given = "" } = process.env;
  try {
    const base = isAbsolute(given) ? given : join(homedir(), ".cache");
    enableCompileCache(join(base, "countersign", "compiled"));
  } catch {
    // A user without a home has no cache folder: Node compiles each time.
  }
}
