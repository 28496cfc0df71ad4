/**
 * Waits until the disk has done all that this test process waits for. A test that owns the clock
 * moves it in steps and lets the workers have their turns in between; a log that is synced beside
 * the event loop takes more than turns of it.
 */

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate as nextTurn } from "node:timers/promises";

let underWay = 0;

const { fdatasync } = fs;

type Done = (error: NodeJS.ErrnoException | null) => void;

fs.fdatasync = Object.assign((descriptor: number, done: Done) => {
  underWay++;
  fdatasync(descriptor, (error) => {
    underWay--;
    done(error);
  });
}, fdatasync);
syncBuiltinESMExports();

/** Waits until no sync is under way, at once when there is none. */
export async function diskIdle(): Promise<void> {
  while (underWay > 0) await nextTurn();
}
