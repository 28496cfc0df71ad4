/**
 * `npm run crash -- --engine sqlite --cycles 500`: kills servers under load, and ends with 1 and
 * the command that repeats it when a promise was broken. `--minutes 20` bounds the killing, and
 * `--acts 40` how much callers do while one server lives. With `--power-cuts` its disk
 * loses what was not synced, too: on SQLite, for root.
 */

import { parseArgs } from "node:util";
import { ACTS_MAX, runCycles } from "./cycles.ts";

const { values } = parseArgs({
  options: {
    engine: { type: "string", default: "sqlite" },
    cycles: { type: "string", default: "500" },
    acts: { type: "string", default: String(ACTS_MAX) },
    "power-cuts": { type: "boolean", default: false },
    minutes: { type: "string", default: "600" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const { engine, "power-cuts": hasPowerCuts } = values;
if (engine !== "sqlite" && engine !== "postgres") throw new Error("--engine sqlite|postgres");
if (hasPowerCuts && engine !== "sqlite") throw new Error("--power-cuts is for --engine sqlite");
const [cycles, seed] = [readCount("cycles", values.cycles), readCount("seed", values.seed)];
const actsMax = readCount("acts", values.acts);
const killingMs = readCount("minutes", values.minutes) * 60_000;

/** Failures and the leases of killed servers last minutes, not longer. */
const SETTLE_MS = 240_000;

const ends: (() => Promise<void>)[] = [];
const lifetime = { after: (end: () => Promise<void>) => void ends.unshift(end) };
const startedAt = performance.now();
try {
  const print = (line: string) => console.log(line);
  print(`engine ${engine}, ${cycles} cycles of ${actsMax} acts at most, seed ${seed}`);
  const bounds = { cycles, killingMs, settleMs: SETTLE_MS, isWhole: true };
  const plan = { engine, seed, actsMax, print, hasPowerCuts, ...bounds } as const;
  const { violations, ...found } = await runCycles(lifetime, plan);
  print(JSON.stringify(found));
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  for (const violation of violations) print(`BROKEN  ${violation}`);
  print(violations.length === 0 ? `nothing was broken, in ${minutes} minutes` : repeat());
  process.exitCode = violations.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error);
  console.error(repeat());
  process.exitCode = 1;
} finally {
  for (const end of ends) await end();
}

function repeat(): string {
  const options = `--engine ${engine} --cycles ${cycles} --acts ${actsMax} --seed ${seed}`;
  const cuts = hasPowerCuts ? " --power-cuts" : "";
  return `repeat it with: npm run crash -- ${options}${cuts}`;
}

function readCount(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} is a whole number, not ${text}`);
  return Number(text);
}
