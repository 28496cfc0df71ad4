/**
 * Looks every second whether another process has migrated the database, or is about to. A program
 * that can go on with it goes on; another one ends itself before the migration is made, because
 * storage/migrate.ts announces it and waits. Not needed where no other process can migrate.
 */

import type { Context } from "../context.ts";
import type { Failure } from "../failure.ts";
import { checkSchema } from "../operations/operate/checkSchema.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 1_000;

export interface Watched {
  /** The schema that the database had at the start. */
  readonly version: number;
  /** The schema that this program knows. */
  readonly known: number;
  /** Called once, when this program cannot use the database any more; it stops this worker. */
  readonly onOutgrown: (reason: Failure) => void;
}

export function startSchemaWatch(
  context: Context,
  report: Report,
  { version: versionAtStart, known, onOutgrown }: Watched,
): Worker {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};
  let seen = versionAtStart;

  function sleep(): void {
    if (stopped) return;
    cancel = context.clock.after(SLEEP_MS, () => {
      running = work();
    });
  }

  async function work(): Promise<void> {
    try {
      const { version, refusal } = await checkSchema(context, known);
      if (refusal !== undefined) {
        report.schemaOutgrown(refusal);
        // Not awaited: what it does waits for this worker.
        onOutgrown(refusal);
        return;
      }
      if (version !== seen) report.schemaChanged(version, known);
      seen = version;
    } catch (error) {
      report.dependencyFailed("schema", error);
    }
    sleep();
  }

  sleep();

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
