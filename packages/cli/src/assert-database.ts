/**
 * For commands that work on a data folder which is there: a mistyped one must not become a new,
 * empty one.
 */

import { existsSync } from "node:fs";
import { CommandError, EXIT } from "@countersign/command-line";
import { databaseFile } from "@countersign/server";

/** The settings that say where the database is. */
interface DatabasePlace {
  readonly data: string;
  readonly database_url: string | undefined;
}

/** @throws CommandError when the folder is to hold the database and does not */
export function assertDatabase({ data, database_url: url }: DatabasePlace): void {
  if (url !== undefined || existsSync(databaseFile(data))) return;
  throw new CommandError(EXIT.refused, "no_database", `no database found in ${data}`);
}
