/**
 * For commands that work on a data folder which is there: a mistyped one must not become a new,
 * empty one.
 */

import { existsSync } from "node:fs";
import { databaseFile } from "@countersign/server";
import { CommandError, EXIT } from "./exit.ts";

/** @throws CommandError when the folder holds no database */
export function assertDatabase(dataDirectory: string): void {
  if (existsSync(databaseFile(dataDirectory))) return;
  const message = `there is no database in ${dataDirectory}`;
  throw new CommandError(EXIT.refused, "no_database", message);
}
