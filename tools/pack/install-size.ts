/**
 * How large an installed package may be, with its production dependencies, in an empty project.
 */

import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** In megabytes of 1000000 bytes. */
export const INSTALL_MEGABYTES_MAX: Readonly<Record<string, number>> = {
  countersign: 42,
  "@countersign/agent-hooks": 3,
};

/** The size of all files, as `du --apparent-size` and the registry count it. */
export function measureMegabytes(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(({ parentPath, name }) => lstatSync(join(parentPath, name)).size);
  return sizes.reduce((sum, each) => sum + each, 0) / 1e6;
}
