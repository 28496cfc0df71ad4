/**
 * Where things are in a data folder.
 */

import { join } from "node:path";

/** The database of a data folder. */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, "countersign.db");
}
