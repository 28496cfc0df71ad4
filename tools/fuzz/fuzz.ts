/**
 * Throws inputs at what reads them, by name of the target:
 *
 *   npm run fuzz -- --target json --inputs 1000000 --seed 1
 *
 * Without --target, all of them. A failure is printed with its input and the command that repeats
 * it; put the input into corpus/ when it is fixed. An input that took more than 100 ms of this
 * process is repeated, and reported when it always does. A finding sets the exit code to 1.
 */

import { parseArgs } from "node:util";
import fc from "fast-check";
import { HTTP_TARGETS } from "./http-targets.ts";
import { PREVIEW_TARGETS } from "./preview-targets.ts";
import { TARGETS, type Target } from "./targets.ts";

export const ALL_TARGETS: readonly Target[] = [...TARGETS, ...PREVIEW_TARGETS, ...HTTP_TARGETS];

export const SLOW_MS = 100;

const BATCH = 1_000;

export interface Found {
  readonly target: string;
  readonly input: string;
  readonly what: string;
}

export interface Run {
  readonly inputs: number;
  readonly found: readonly Found[];
  /** Of the slowest input that was so each time, ms of this process. */
  readonly slowestMs: number;
  readonly heapBytesMax: number;
}

/** Ms that this process has computed. */
function computedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function fault(target: Target, input: string): Promise<string | undefined> {
  try {
    await target.check(input);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}

/** @returns the least of three tries: what else the process did is in each, but not as much */
async function computedFor(target: Target, input: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 3; at++) {
    const before = computedMs();
    await fault(target, input);
    least = Math.min(least, computedMs() - before);
  }
  return least;
}

export interface FuzzOptions {
  /** Receives each failure when it is found. */
  readonly onFound?: (found: Found) => void;
  /** Whether it is measured how long an input computes: true when it is not said. */
  readonly isTimed?: boolean;
}

export async function fuzz(
  target: Target,
  count: number,
  seed: number,
  { onFound = () => {}, isTimed = true }: FuzzOptions = {},
): Promise<Run> {
  const found: Found[] = [];
  const add = (input: string, what: string): void => {
    found.push({ target: target.name, input, what });
    onFound({ target: target.name, input, what });
  };
  let slowestMs = 0;
  let heapBytesMax = 0;
  for (let done = 0; done < count; done += BATCH) {
    const numRuns = Math.min(BATCH, count - done);
    for (const input of fc.sample(target.inputs, { numRuns, seed: seed + done })) {
      const before = performance.now();
      const what = await fault(target, input);
      if (what !== undefined) add(input, what);
      if (!isTimed || performance.now() - before <= SLOW_MS) continue;
      const ms = await computedFor(target, input);
      slowestMs = Math.max(slowestMs, ms);
      if (ms > (target.slowMs ?? SLOW_MS)) add(input, `computes for ${Math.round(ms)} ms`);
    }
    heapBytesMax = Math.max(heapBytesMax, process.memoryUsage().heapUsed);
  }
  return { inputs: count, found, slowestMs, heapBytesMax };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true },
      inputs: { type: "string", default: "10000" },
      seed: { type: "string", default: "1" },
    },
  });
  const names = values.target ?? ALL_TARGETS.map(({ name }) => name);
  const count = Number(values.inputs);
  const seed = Number(values.seed);
  let total = 0;
  for (const name of names) {
    const target = ALL_TARGETS.find((each) => each.name === name);
    if (target === undefined) {
      throw new Error(`the targets are ${ALL_TARGETS.map((each) => each.name).join(", ")}`);
    }
    const startedAt = performance.now();
    const onFound = ({ input, what }: Found): void => {
      process.stdout.write(
        `FOUND in ${name}: ${what}\n  input: ${JSON.stringify(input.slice(0, 2_000))}\n`,
      );
    };
    const run = await fuzz(target, count, seed, { onFound });
    await target.end?.();
    total += run.found.length;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const heap = Math.round(run.heapBytesMax / 1_048_576);
    const what = `${count} inputs from seed ${seed} in ${seconds} s`;
    process.stdout.write(`${name}: ${what}, ${run.found.length} found, heap ${heap} MiB\n`);
  }
  if (total > 0) process.exitCode = 1;
}

if (import.meta.main) await main();
