/**
 * Plays seeds until one breaks a promise, or all are played:
 *
 *   npm run simulate -- --seeds 1000 --from 1 --replicas 3 --steps 2500
 *   npm run simulate -- --seed 17 --trace
 *
 * Called by: npm run simulate.
 */

import { parseArgs } from "node:util";
import { Template } from "./database.ts";
import { runSeed, type SeedOutcome } from "./run-seed.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    replicas: { type: "string", default: "3" },
    steps: { type: "string", default: "2500" },
    trace: { type: "boolean", default: false },
    /** Goes on after a seed that broke a promise. */
    all: { type: "boolean", default: false },
  },
});

const [replicas, steps] = [Number(values.replicas), Number(values.steps)];
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

const template = await Template.make();
const totals: Record<string, number> = {};
let [played, broken, turns] = [0, 0, 0];

try {
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await runSeed(template, { seed, replicas, steps, isTraced: values.trace });
    played++;
    turns += outcome.turns;
    for (const [what, n] of Object.entries(outcome.counts)) totals[what] = (totals[what] ?? 0) + n;
    if (values.trace) for (const line of outcome.trace) process.stdout.write(`${line}\n`);
    if (played % 100 === 0) process.stdout.write(`${played} seeds, ${turns} turns\n`);
    if (outcome.broken === undefined) continue;
    broken++;
    process.exitCode = 1;
    process.stdout.write(told(outcome));
    if (!values.all) break;
  }
  process.stdout.write(`${played} seeds, ${turns} turns, ${broken} broke a promise\n`);
  process.stdout.write(`${JSON.stringify(totals)}\n`);
} finally {
  template.remove();
}

function told({ seed, broken: promise, digest }: SeedOutcome): string {
  const options = `--seed ${seed} --replicas ${replicas} --steps ${steps}`;
  return (
    `seed ${seed} breaks ${promise?.message}\n` +
    `  replay (${digest}): npm run simulate -- ${options} --trace\n`
  );
}
