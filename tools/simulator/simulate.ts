/**
 * Plays seeds until one breaks a promise, or all are played:
 *
 *   npm run simulate -- --seeds 1000 --from 1 --replicas 3 --steps 2500
 *   npm run simulate -- --seed 17 --trace
 *   npm run simulate -- --mutation decided-twice --seeds 100
 *   npm run simulate -- --mutations --seeds 100
 */

import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { MUTATIONS, plant } from "./mutations.ts";
import type { SeedOutcome } from "./run-seed.ts";

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
    /** Plants this one; that it is found is then success. */
    mutation: { type: "string" },
    /** Plants each in turn. */
    mutations: { type: "boolean", default: false },
  },
});

const [replicas, steps] = [Number(values.replicas), Number(values.steps)];
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

if (values.mutations) tryMutations();
else await play();

/** Each in a process of its own: what is loaded once stays as it is. */
function tryMutations(): void {
  let missed = 0;
  for (const { name, breaks } of MUTATIONS) {
    const options = ["--mutation", name, "--seeds", String(count), "--from", String(from)];
    const shape = ["--replicas", String(replicas), "--steps", String(steps)];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [import.meta.filename, ...options, ...shape],
      { encoding: "utf8" },
    );
    const summary = stdout.split("\n").find((line) => line.startsWith("seed ")) ?? stderr.trim();
    process.stdout.write(
      `${name} (${breaks}): ${status === 0 ? summary : `NOT FOUND ${summary}`}\n`,
    );
    if (status !== 0) missed++;
  }
  process.stdout.write(`${MUTATIONS.length - missed} of ${MUTATIONS.length} were found\n`);
  if (missed > 0) process.exitCode = 1;
}

async function play(): Promise<void> {
  const { mutation } = values;
  if (mutation !== undefined) plant(mutation);
  // Only now: a mutation is planted while its file is loaded.
  const { Template } = await import("./database.ts");
  const { runSeed } = await import("./run-seed.ts");
  const template = await Template.make();
  const totals: Record<string, number> = {};
  let [played, broken, turns, isStopped] = [0, 0, 0, false];
  // Ctrl-C ends it with what was found until then.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isStopped = true;
    });
  }
  try {
    for (let seed = from; seed < from + count && !isStopped; seed++) {
      const outcome = await runSeed(template, { seed, replicas, steps, isTraced: values.trace });
      played++;
      turns += outcome.turns;
      for (const [what, n] of Object.entries(outcome.counts)) {
        totals[what] = (totals[what] ?? 0) + n;
      }
      if (values.trace) for (const line of outcome.trace) process.stdout.write(`${line}\n`);
      if (outcome.broken !== undefined) {
        broken++;
        process.stdout.write(describeSeed(outcome));
        if (!values.all) break;
      }
      if (played % 100 === 0) process.stdout.write(`${played} seeds, ${turns} turns\n`);
    }
    process.stdout.write(`${played} seeds, ${turns} turns, ${broken} broke a promise\n`);
    process.stdout.write(`${JSON.stringify(totals)}\n`);
  } finally {
    template.remove();
  }
  const isFound = broken > 0;
  if (isFound !== (mutation !== undefined)) process.exitCode = 1;
}

function describeSeed({ seed, broken, digest }: SeedOutcome): string {
  const planted = values.mutation === undefined ? "" : ` --mutation ${values.mutation}`;
  const options = `--seed ${seed} --replicas ${replicas} --steps ${steps}${planted}`;
  return (
    `seed ${seed} breaks ${broken?.message}\n` +
    `  replay (${digest}): npm run simulate -- ${options} --trace\n`
  );
}
