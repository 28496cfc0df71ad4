/**
 * Checks every second whether another process has migrated the database, or is about to. A program
 * that supports the new schema continues. Any other program stops before the migration:
 * storage/migrate.ts announces it and waits. Only needed where other processes can migrate.
 */

import type { Context } from "../context.ts";
import type { Failure } from "../failure.ts";
import { checkSchema } from "../operations/operate/checkSchema.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 1_000;

export interface Watched {
  /** The schema that the database had at the start. */
  readonly version: number;
  /** The schema of this program. */
  readonly known: number;
  /** Called once, when this program can no longer use the database. It stops this worker. */
  readonly onOutgrown: (reason: Failure) => void;
}

export function startSchemaWatch(
  context: Context,
  report: Report,
  { version: versionAtStart, known, onOutgrown }: Watched,
): Worker {
  let seen = versionAtStart;
  return new TimerLoop(context.clock, report, {
    name: "schema",
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    async run() {
      const { version, refusal } = await checkSchema(context, known);
      if (refusal !== undefined) {
        report.schemaOutgrown(refusal);
        // Not awaited: the callback waits for this worker.
        onOutgrown(refusal);
        return Number.POSITIVE_INFINITY;
      }
      if (version !== seen) report.schemaChanged(version, known);
      seen = version;
      return undefined;
    },
  });
}
