/** The version of this package, from its package.json. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dirname, "../package.json");

export const VERSION = (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string })
  .version;
