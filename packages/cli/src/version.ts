/** The version of the program. */

import { readVersion } from "@countersign/command-line";

export const VERSION = readVersion(new URL("../package.json", import.meta.url));
