/**
 * Compares the processor time of the server with that of an earlier commit, in turns on this
 * machine: `npm run bench:base -- --base REV`. Exits with 1 when a scenario needs over 10 % more.
 */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Results } from "./results.ts";
import { median } from "./statistics.ts";
import { percent, reportProgress, table } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

/** Beyond the noise of medians of ratios on an idle machine. */
const RATIO_MAX = 1.1;

const ROOT = join(import.meta.dirname, "..");

const { values } = parseArgs({
  options: {
    base: { type: "string" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "3" },
  },
});
const { base, seconds } = values;
const rounds = Number(values.rounds);
if (base === undefined || !(rounds >= 1)) {
  console.error("npm run bench:base -- --base REV [--rounds N] [--seconds S]");
  process.exit(2);
}

const folder = temporaryFolder();
try {
  checkOut(base, folder);
  const ratios = measure(folder);
  console.log(
    table([
      [`CPU per exchange, of ${base}`, "median", "lowest", "highest"],
      ...[...ratios].map(([scenario, all]) => [
        scenario,
        percent(median(all)),
        percent(Math.min(...all)),
        percent(Math.max(...all)),
      ]),
    ]),
  );
  const slower = [...ratios].filter(([, all]) => median(all) > RATIO_MAX);
  for (const [scenario] of slower) {
    console.error(`${scenario} needs over ${percent(RATIO_MAX - 1)} more CPU than at ${base}`);
  }
  if (slower.length > 0) process.exitCode = 1;
} finally {
  removeFolder(folder);
  execFileSync("git", ["worktree", "prune"], { cwd: ROOT });
}

function checkOut(revision: string, parent: string): void {
  reportProgress(`installing ${revision}`);
  const target = join(parent, "base");
  execFileSync("git", ["worktree", "add", "--detach", target, revision], { cwd: ROOT });
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: target });
}

/** @returns by scenario, the ratios of the rounds */
function measure(parent: string): Map<string, number[]> {
  const ratios = new Map<string, number[]>();
  for (let round = 1; round <= rounds; round++) {
    reportProgress(`round ${round} of ${rounds}`);
    const before = run(join(parent, "base"));
    for (const [scenario, cpuUs] of run(ROOT)) {
      const ratio = cpuUs / (before.get(scenario) ?? Number.NaN);
      if (!Number.isFinite(ratio)) throw new Error(`${scenario} has no CPU time to compare`);
      ratios.set(scenario, [...(ratios.get(scenario) ?? []), ratio]);
    }
  }
  return ratios;
}

/** @returns by scenario, microseconds of CPU for one exchange */
function run(root: string): Map<string, number> {
  const sections = ["create", "decide", "read"];
  const args = ["bench/bench.ts", ...sections, "--rounds", "1", "--seconds", String(seconds)];
  const output = execFileSync(process.execPath, [...args, "--json"], {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { comparisons } = JSON.parse(output) as Results;
  return new Map(comparisons.map(({ scenario, subject }) => [scenario, subject.cpuUs]));
}
