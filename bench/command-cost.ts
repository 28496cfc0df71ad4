/**
 * The time and the peak memory of one run of the command `countersign`.
 */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { CLI, peakResidentMb, spawnTracked } from "./children.ts";

export interface CommandCost {
  /** From the start of the process to its exit. */
  readonly seconds: number;
  readonly memoryMb: number;
  readonly output: string;
}

const SAMPLE_EVERY_MS = 50;

/**
 * @param onSample called with the process id at intervals while the command runs
 * @throws Error when the command fails
 */
export async function runCommand(
  args: readonly string[],
  onSample: (pid: number) => void = () => undefined,
): Promise<CommandCost> {
  const startedAt = performance.now();
  // Without the environment, because it can name a database with data of the developer.
  const child = spawnTracked([CLI, ...args], ["ignore", "pipe", "inherit"], {});
  if (child.stdout === null) throw new Error("the command has no output");
  let memoryMb = 0;
  let failure: unknown;
  const sampling = setInterval(() => {
    const pid = child.pid ?? 0;
    try {
      memoryMb = Math.max(memoryMb, peakResidentMb(pid));
      onSample(pid);
    } catch (error) {
      // It may have ended, also during the sample.
      if (existsSync(`/proc/${pid}/exe`)) failure ??= error;
    }
  }, SAMPLE_EVERY_MS);
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  clearInterval(sampling);
  if (failure !== undefined) throw failure;
  const seconds = (performance.now() - startedAt) / 1_000;
  if (code !== 0) throw new Error(`countersign ${args.join(" ")} ended with ${code}: ${output}`);
  return { seconds, memoryMb, output };
}
