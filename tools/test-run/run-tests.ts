/**
 * Runs tests: `node tools/test-run/run-tests.ts TIER [FILE...]`. The tiers:
 *
 *   unit      tests beside the code, in one process
 *   sqlite    everything except the slow tests (`npm test`)
 *   slow      the slow tests
 *   nightly   the tests with real coding agents
 *   postgres  the tests of the server again, on PostgreSQL
 *
 * With files, only these files run. At the end it lists skipped tests and files that did not run
 * because a program is missing. The exit code is 1 if a test failed, or was skipped without
 * permission. Durations are written to node_modules/.cache/test-times.json; the next run starts the
 * slowest files first.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { startPostgres } from "../../packages/server/test/support/postgres.ts";
import { ONLY_ON_SQLITE } from "./only-on-sqlite.ts";
import { findMissing, type Missing } from "./programs.ts";
import { judgeSkips, type Skip } from "./skips.ts";
import { listTestFiles, type TestFile } from "./test-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TIMES = join(ROOT, "node_modules/.cache/test-times.json");
const UNIT_TESTS = "tools/test-run/unit-tests.ts";

const EVERYTHING = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "tools/**/*.test.ts",
];

/** These tests start PostgreSQL in every run, or move data to it. */
const ON_POSTGRESQL_ANYWAY = "postgres-*|import*|rolling-upgrade|migrate-command";

type Choose = (file: TestFile) => boolean;

const TIERS: Readonly<Record<string, { readonly patterns: readonly string[]; choose: Choose }>> = {
  unit: { patterns: [], choose: () => false },
  sqlite: { patterns: EVERYTHING, choose: ({ tier }) => tier === "main" },
  slow: { patterns: EVERYTHING, choose: ({ tier }) => tier === "slow" },
  nightly: { patterns: EVERYTHING, choose: ({ tier }) => tier === "nightly" },
  postgres: {
    patterns: [`packages/server/test/!(${ON_POSTGRESQL_ANYWAY}).test.ts`],
    choose: () => true,
  },
};

/** A test that waits for something that never happens fails by its name. */
const TEST_MS_MAX = 20 * 60_000;

/** Half of the time a test file waits for a process, a timer or a disk. */
const FILES_PER_CORE = 2;

const SLOWEST_SHOWN = 10;

const [name = "sqlite", ...chosen] = process.argv.slice(2);
const tier = TIERS[name];
if (tier === undefined)
  throw new Error(`Unknown tier "${name}": ${Object.keys(TIERS).join(", ")}.`);

const isWhole = chosen.length === 0;
const listed = listTestFiles(ROOT, isWhole ? tier.patterns : chosen);
const { files, notRun, missing } = withoutMissing(isWhole ? listed.filter(tier.choose) : listed);
const runsUnits = isWhole && (name === "unit" || name === "sqlite");
const times = readTimes();
const paths = [...(runsUnits ? [UNIT_TESTS] : []), ...files].sort(
  (a, b) => (times[b] ?? 0) - (times[a] ?? 0),
);

// The processes of the files inherit these.
process.env.COUNTERSIGN_TEST_ENGINE = name === "postgres" ? "postgres" : "sqlite";
if (name === "slow") process.env.COUNTERSIGN_TEST_SLOW = "yes";
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules/.cache/compiled");
const postgres = isWhole && name !== "unit" ? await sharePostgres() : undefined;

const events = run({
  cwd: ROOT,
  files: paths.map((path) => join(ROOT, path)),
  // With protection keys, V8 can abort a busy process: https://github.com/nodejs/node/issues/64500
  execArgv: ["--no-memory-protection-keys"],
  concurrency: isWhole ? availableParallelism() * FILES_PER_CORE : availableParallelism(),
  timeout: TEST_MS_MAX,
});

const skips: Skip[] = [];
for (const type of ["test:pass", "test:fail"] as const) {
  events.on(type, ({ name, skip, todo }) => {
    const reason = skip ?? todo;
    if (reason === undefined || reason === false) return;
    skips.push({ name, reason: String(reason) });
  });
}
let isSuccess = false;
events.on("test:summary", ({ file, success, duration_ms: ms }) => {
  if (file === undefined) isSuccess = success;
  else times[relative(ROOT, file)] = Math.round(ms);
});

for await (const text of events.compose(new spec())) process.stdout.write(text);
await postgres?.stop();

writeTimes();
const counts = name === "postgres" ? ONLY_ON_SQLITE : {};
const { lines, faults } = judgeSkips(skips, counts, isWhole);
const report = [...lines, ...slowest(), ...describeMissing(), ...faults];
for (const line of report) process.stdout.write(`${line}\n`);
const isComplete = missing.length === 0 || process.env.COUNTERSIGN_TEST_COMPLETE !== "yes";
if (!isSuccess || faults.length > 0 || !isComplete) process.exitCode = 1;

interface Selection {
  readonly files: readonly string[];
  readonly notRun: readonly TestFile[];
  readonly missing: readonly Missing[];
}

function withoutMissing(all: readonly TestFile[]): Selection {
  const missing = findMissing(all.flatMap(({ needs }) => needs));
  const names = missing.map(({ program }) => program);
  const cannotRun = ({ needs }: TestFile) => needs.some((need) => names.includes(need));
  const files = all.filter((file) => !cannotRun(file)).map(({ path }) => path);
  return { files, notRun: all.filter(cannotRun), missing };
}

function describeMissing(): string[] {
  if (notRun.length === 0) return [];
  return [
    "",
    `WARNING: ${notRun.length} test files did not run because programs are missing:`,
    ...notRun.map(({ path, needs }) => `  - ${path} (needs ${needs.join(", ")})`),
    ...missing.map(({ program, install }) => `Install ${program}: ${install}`),
  ];
}

/** One PostgreSQL for all files of the run. Every test has a database of its own on it. */
async function sharePostgres(): Promise<{ stop(): Promise<void> } | undefined> {
  if (process.env.COUNTERSIGN_TEST_POSTGRES !== undefined) return undefined;
  const settings = ["max_connections = 500", "shared_buffers = 128MB", "autovacuum = off"];
  const server = await startPostgres({ settings });
  process.env.COUNTERSIGN_TEST_POSTGRES = server.url;
  return server;
}

function readTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}

function writeTimes(): void {
  mkdirSync(dirname(TIMES), { recursive: true });
  writeFileSync(TIMES, `${JSON.stringify(times, undefined, 2)}\n`);
}

function slowest(): string[] {
  if (!isWhole || paths.length < SLOWEST_SHOWN) return [];
  const sorted = paths.toSorted((a, b) => (times[b] ?? 0) - (times[a] ?? 0));
  const shown = sorted.slice(0, SLOWEST_SHOWN);
  const seconds = (path: string) => `${((times[path] ?? 0) / 1000).toFixed(1)} s`;
  return ["Slowest files:", ...shown.map((path) => `  - ${seconds(path)}  ${path}`)];
}
