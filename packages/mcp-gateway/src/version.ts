/** The version of the gateway. */

import { readVersion } from "@countersign/command-line";

export const VERSION = readVersion(new URL("../package.json", import.meta.url));
