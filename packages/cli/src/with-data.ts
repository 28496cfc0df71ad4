/**
 * For commands that work on the database itself, beside a running server or without one.
 */

import { EXIT } from "@countersign/command-line";
import { type OpenedContext, openKnownContext, toSecrets, toSettings } from "@countersign/server";
import type { SettingsLine } from "./settings-line.ts";

/**
 * Opens a database that is there: a mistyped name must not become a new, empty one.
 *
 * @throws Failure when it is not there
 */
export async function withKnownData(
  line: SettingsLine,
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
