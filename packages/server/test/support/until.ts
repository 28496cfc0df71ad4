import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { databaseIdle } from "./database-idle.ts";
import { diskIdle } from "./disk-idle.ts";
import { ENGINE } from "./engine.ts";

/** Long enough for a busy machine. A test that waits for more fails instead of hanging. */
export const PATIENCE_MS = 60_000;

/** Enough for an effect inside this process. */
const TURNS = 50;

/** Further turns would take the processor from the browser, the child or the disk. */
const PAUSE_MS = 2;

/** Lets the event loop turn until `condition` holds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (let turn = 0; !(await condition()); turn++) {
    if (performance.now() > end) throw new Error(`did not happen: ${what}`);
    await (turn < TURNS ? nextTurn() : sleep(PAUSE_MS));
  }
}

/** Lets everything finish that needs only a few event loop iterations. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) {
    await nextTurn();
    await diskIdle();
  }
  if (ENGINE === "postgres") await databaseIdle();
}
