/**
 * For commands that work on the database itself, beside a running server or without one.
 */

import {
  type OpenedContext,
  openContext,
  openKnownContext,
  toSecrets,
  toSettings,
} from "@countersign/server";
import type { CommandLine } from "./command-line.ts";
import { EXIT } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

/** Opens the database that the settings name, made if new, for as long as `work` takes. */
export async function withData(
  line: CommandLine,
  terminal: Terminal,
  work: (opened: OpenedContext) => Promise<void>,
): Promise<typeof EXIT.done> {
  const config = line.config();
  const opened = await openContext(toSettings(config), toSecrets(config));
  try {
    const place = config.database_url === undefined ? config.data : "database_url";
    if (opened.isNew) terminal.note(`There was no database in ${place}; made one.`);
    await work(opened);
    return EXIT.done;
  } finally {
    await opened.close();
  }
}

/**
 * Opens a database that is there: a mistyped name must not become a new, empty one.
 *
 * @throws Failure when it is not there
 */
export async function withKnownData(
  line: CommandLine,
  work: (opened: OpenedContext) => Promise<void>,
): Promise<typeof EXIT.done> {
  const config = line.config();
  const opened = await openKnownContext(toSettings(config), toSecrets(config));
  try {
    await work(opened);
    return EXIT.done;
  } finally {
    await opened.close();
  }
}
