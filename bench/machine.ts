/**
 * The machine of a run. Ratios travel between machines; rates and times do not.
 */

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { median } from "./statistics.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  readonly node: string;
  /** One append of 8 KiB made durable, in ms: what no commit can be faster than. */
  readonly durableWriteMs: number;
}

const WRITES = 200;
const WRITE_BYTES = 8_192;

export function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    memoryGb: Math.round(totalmem() / 1e9),
    node: process.version,
    durableWriteMs: timeDurableWrite(),
  };
}

function timeDurableWrite(): number {
  const folder = temporaryFolder();
  const file = openSync(join(folder, "append"), "w");
  const block = Buffer.alloc(WRITE_BYTES);
  const elapsedMs = Array.from({ length: WRITES }, () => {
    const startedAt = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  removeFolder(folder);
  return median(elapsedMs);
}
