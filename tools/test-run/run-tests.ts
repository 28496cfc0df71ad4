/**
 * Runs tests: `node tools/test-run/run-tests.ts TIER [FILE...]`. The tiers:
 *
 *   unit      tests beside the code
 *   sqlite    everything except what follows (`npm test`)
 *   browser   the tests of pages in a browser
 *   slow      the slow tests
 *   nightly   the tests with real coding agents
 *   postgres  the tests of the server again, on PostgreSQL
 *
 * With files, only these files run. At the end it lists skipped tests and files that did not run
 * because a program is missing. The exit code is 1 if a test failed, or was skipped without
 * permission. Durations are written to node_modules/.cache/test-times.json; the next run starts the
 * slowest files first.
 */

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { startPostgres } from "../../packages/server/test/support/postgres.ts";
import { ONLY_ON_SQLITE } from "./only-on-sqlite.ts";
import { findMissing, type Missing } from "./programs.ts";
import { createQueue } from "./queue.ts";
import { judgeSkips, type Skip } from "./skips.ts";
import { listTestFiles, type TestFile } from "./test-files.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TIMES = join(ROOT, "node_modules/.cache/test-times.json");
const WORKER = join(import.meta.dirname, "worker.ts");

const EVERYTHING = [
  "packages/*/src/**/*.test.ts",
  "packages/*/test/**/*.test.ts",
  "tools/**/*.test.ts",
];

/** These tests start PostgreSQL in every run, or move data to it. */
const ON_POSTGRESQL_ANYWAY = "postgres-*|import*|rolling-upgrade|migrate-command";

type Choose = (file: TestFile) => boolean;

const TIERS: Readonly<Record<string, { readonly patterns: readonly string[]; choose: Choose }>> = {
  unit: { patterns: EVERYTHING, choose: ({ tier }) => tier === "unit" },
  sqlite: { patterns: EVERYTHING, choose: ({ tier }) => tier === "unit" || tier === "main" },
  browser: { patterns: EVERYTHING, choose: ({ tier }) => tier === "browser" },
  slow: { patterns: EVERYTHING, choose: ({ tier }) => tier === "slow" },
  nightly: { patterns: EVERYTHING, choose: ({ tier }) => tier === "nightly" },
  postgres: {
    patterns: [`packages/server/test/!(${ON_POSTGRESQL_ANYWAY}).test.ts`],
    choose: () => true,
  },
};

/** More than one, because test files wait for other processes, timers and disks. */
const PROCESSES_PER_CORE = 1.5;

/** A process that hangs ends. The workers run as long as the whole run. */
const RUN_MS_MAX = 80 * 60_000;

const SLOWEST_SHOWN = 10;

const [name = "sqlite", ...chosen] = process.argv.slice(2);
const tier = TIERS[name];
if (tier === undefined)
  throw new Error(`Unknown tier "${name}": ${Object.keys(TIERS).join(", ")}.`);

const isWhole = chosen.length === 0;
const listed = isWhole ? listTestFiles(ROOT, tier.patterns) : chosen.flatMap(listNamed);
const { files, notRun, missing } = withoutMissing(isWhole ? listed.filter(tier.choose) : listed);
const times = readTimes();
const slowestFirst = files.toSorted((a, b) => expectedTime(b) - expectedTime(a));
const alone = slowestFirst.filter(({ hasOwnProcess }) => hasOwnProcess);
const queued = slowestFirst.filter((file) => !alone.includes(file)).map(({ path }) => path);
const queue = createQueue(queued);
const processes = Math.ceil(availableParallelism() * (isWhole ? PROCESSES_PER_CORE : 1));
const workers = Array<string>(Math.min(processes, queued.length)).fill(WORKER);

// The processes of the files inherit these.
process.env.COUNTERSIGN_TEST_QUEUE = queue;
process.env.COUNTERSIGN_TEST_ENGINE = name === "postgres" ? "postgres" : "sqlite";
if (name === "slow") process.env.COUNTERSIGN_TEST_SLOW = "yes";
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules/.cache/compiled");
const postgres = isWhole && name !== "unit" ? await sharePostgres() : undefined;

const events = run({
  cwd: ROOT,
  files: [...alone.map(({ path }) => join(ROOT, path)), ...workers],
  // With protection keys, V8 can abort a busy process: https://github.com/nodejs/node/issues/64500
  execArgv: ["--no-memory-protection-keys"],
  concurrency: processes,
  timeout: RUN_MS_MAX,
});

const skips: Skip[] = [];
for (const type of ["test:pass", "test:fail"] as const) {
  events.on(type, ({ name, skip, todo }) => {
    const reason = skip ?? todo;
    if (reason === undefined || reason === false) return;
    skips.push({ name, reason: String(reason) });
  });
}
const ended = new Set<string>();
// The reporter below prints the tests of one process after those of another.
events.on("test:complete", ({ name: path, nesting, details }) => {
  if (nesting > 0 || !queued.includes(path)) return;
  ended.add(path);
  times[path] = Math.round(details.duration_ms);
  const result = details.passed ? "passed" : "FAILED";
  const seconds = (details.duration_ms / 1000).toFixed(1);
  process.stdout.write(`${ended.size}/${queued.length} ${result} ${path} (${seconds} s)\n`);
});
let isSuccess = false;
events.on("test:summary", ({ file, success, duration_ms: ms }) => {
  if (file === undefined) isSuccess = success;
  else if (file !== WORKER) times[relative(ROOT, file)] = Math.round(ms);
});

for await (const text of events.compose(new spec())) process.stdout.write(text);
await postgres?.stop();
rmSync(queue, { recursive: true });

writeTimes();
const counts = name === "postgres" ? ONLY_ON_SQLITE : {};
const judged = judgeSkips(skips, counts, isWhole);
// A test that ends its process would otherwise hide the rest of its file.
const unended = queued.filter((path) => !ended.has(path));
const faults = judged.faults.concat(unended.map((path) => `${path} did not end`));
const report = judged.lines.concat(slowest(), describeMissing(), faults);
for (const line of report) process.stdout.write(`${line}\n`);
const isComplete = missing.length === 0 || process.env.COUNTERSIGN_TEST_COMPLETE !== "yes";
if (!isSuccess || faults.length > 0 || !isComplete) process.exitCode = 1;

/** In milliseconds. Of a file that never ran, the size is all that is known. */
function expectedTime({ path }: TestFile): number {
  return times[path] ?? statSync(join(ROOT, path)).size;
}

/** @param pattern a path from the root of the repository, or a glob pattern */
function listNamed(pattern: string): TestFile[] {
  const found = listTestFiles(ROOT, [pattern]);
  if (found.length === 0) throw new Error(`No test file is named ${pattern}.`);
  return found;
}

interface Selection {
  readonly files: readonly TestFile[];
  readonly notRun: readonly TestFile[];
  readonly missing: readonly Missing[];
}

function withoutMissing(all: readonly TestFile[]): Selection {
  const missing = findMissing(all.flatMap(({ needs }) => needs));
  const names = missing.map(({ program }) => program);
  const cannotRun = ({ needs }: TestFile) => needs.some((need) => names.includes(need));
  const files = all.filter((file) => !cannotRun(file));
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
  if (!isWhole || slowestFirst.length < SLOWEST_SHOWN) return [];
  const sorted = files.toSorted((a, b) => expectedTime(b) - expectedTime(a));
  const shown = sorted.slice(0, SLOWEST_SHOWN);
  const seconds = (file: TestFile) => `${(expectedTime(file) / 1000).toFixed(1)} s`;
  return ["Slowest files:", ...shown.map((file) => `  - ${seconds(file)}  ${file.path}`)];
}
