/**
 * Makes one small fault after the other in the files that carry the most, and runs the tests that
 * hold them: a fault that no test notices is a rule that no test states.
 *
 *   npm run mutation -- --files 'packages/server/src/core/retry.ts'
 *
 * Without --files it measures what targets.ts says. It prints the survivors with their places and a
 * line for each file; --report FILE writes the same as JSON. The exit code is 1 when fewer than
 * --least percent (90) were noticed.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseSources } from "../tidy/source.ts";
import { apply, findMutants, type Mutant } from "./mutants.ts";
import { MEASURED, TESTS } from "./targets.ts";
import type { Order, Outcome } from "./worker.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** For tests that nothing was done to, and for what the machine is busy with. */
const TIMEOUT_MS = 120_000;
/** A mutant that takes so much longer than that goes round for ever. */
const SLOWER = 10;
const SLOWER_MS_MIN = 10_000;
const NO_ANSWER = "no answer";
/** Modules of former rounds are never freed. */
const ROUNDS_OF_WORKER = 60;

export interface Result extends Mutant {
  /** Undefined: it survived. */
  readonly killedBy: string | undefined;
}

/** A child process that is started anew when it has had enough, or does not come back. */
class Worker {
  #child: ChildProcess | undefined;
  #rounds = 0;

  /** @param timeoutMs after which the mutant counts as noticed: its user would wait */
  async judge(order: Order, timeoutMs: number): Promise<Outcome> {
    this.#child ??= fork(join(import.meta.dirname, "worker.ts"), { stdio: "ignore" });
    const child = this.#child;
    child.send(order);
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), timeoutMs);
    const gone = once(child, "exit", { signal: abort.signal });
    const answered = once(child, "message", { signal: abort.signal });
    try {
      const [outcome] = (await Promise.race([
        answered,
        gone.then(() => [{ killedBy: "the process ended", slow: [] }]),
      ])) as [Outcome];
      if (++this.#rounds >= ROUNDS_OF_WORKER || child.exitCode !== null) this.stop();
      return outcome;
    } catch {
      this.stop();
      return { killedBy: `${NO_ANSWER} within ${timeoutMs / 1000} s`, slow: [] };
    } finally {
      clearTimeout(timer);
      abort.abort();
      for (const each of [gone, answered]) each.catch(() => {});
    }
  }

  stop(): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    this.#rounds = 0;
  }
}

/** The tests that hold a file, absolute. */
export function testsOf(file: string): string[] {
  const beside = file.replace(/\.ts$/, ".test.ts");
  const tests = [...(existsSync(join(ROOT, beside)) ? [beside] : []), ...(TESTS[file] ?? [])];
  return tests.map((test) => join(ROOT, test));
}

/** @param worker each mutant of the file after the other */
export async function measureFile(
  file: string,
  workers: readonly Worker[],
  onResult: (result: Result) => void,
): Promise<Result[]> {
  const text = readFileSync(join(ROOT, file), "utf8");
  const tests = testsOf(file);
  if (tests.length === 0) throw new Error(`no test is said to hold ${file}: see targets.ts`);
  const [first] = workers;
  if (first === undefined) throw new Error("no worker is available");
  const whole = { file: join(ROOT, file), tests, text: undefined, late: [] };
  const { slow } = await pass(first, whole);
  const order = { ...whole, late: slow };
  const startedAt = performance.now();
  // In the order in which mutants meet them: the quick ones first.
  await pass(first, order);
  const timeoutMs = Math.max(SLOWER_MS_MIN, Math.round((performance.now() - startedAt) * SLOWER));
  const [source] = parseSources(new Map([[file, text]]));
  const waiting = source === undefined ? [] : findMutants(source);
  const results: Result[] = [];
  await Promise.all(
    workers.map(async (worker) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const mutant = { ...order, text: apply(text, next) };
        let { killedBy } = await worker.judge(mutant, timeoutMs);
        // A time-out on a busy machine is not proof of a test.
        if (killedBy?.startsWith(NO_ANSWER)) ({ killedBy } = await worker.judge(mutant, timeoutMs));
        const result = { ...next, killedBy };
        results.push(result);
        onResult(result);
      }
    }),
  );
  return results.sort((a, b) => a.start - b.start);
}

/** @throws Error when the tests fail without a mutant */
async function pass(worker: Worker, order: Order): Promise<Outcome> {
  const outcome = await worker.judge(order, TIMEOUT_MS);
  if (outcome.killedBy === undefined) return outcome;
  throw new Error(`without a mutant, ${order.file} fails: ${outcome.killedBy}`);
}

/** Of files that are named, those that run. */
export function findFiles(patterns: readonly string[]): string[] {
  const found = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
  return [...new Set(found)].filter((file) => !/\.test\.ts$|\.d\.ts$/.test(file)).sort();
}

function describeMutant({ file, line, operator, original, replacement }: Mutant): string {
  const short = (text: string): string => JSON.stringify(text.slice(0, 70));
  return `${file}:${line} ${operator}: ${short(original)} -> ${short(replacement)}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      files: { type: "string", multiple: true },
      parallel: { type: "string", default: "2" },
      least: { type: "string", default: "90" },
      report: { type: "string" },
    },
  });
  const files = findFiles(values.files ?? MEASURED);
  const workers = Array.from({ length: Number(values.parallel) }, () => new Worker());
  const all: Result[] = [];
  const print = (line: string) => process.stdout.write(`${line}\n`);
  for (const file of files) {
    const results = await measureFile(file, workers, (result) => {
      if (result.killedBy === undefined) print(`survived  ${describeMutant(result)}`);
    });
    all.push(...results);
    const killed = results.filter(({ killedBy }) => killedBy !== undefined).length;
    if (results.length > 0) print(`${killed} of ${results.length} killed  ${file}`);
    if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(all, null, 1));
  }
  for (const worker of workers) worker.stop();
  const killed = all.filter(({ killedBy }) => killedBy !== undefined).length;
  const percent = all.length === 0 ? 0 : (100 * killed) / all.length;
  print(`${killed} of ${all.length} mutants killed: ${percent.toFixed(1)} %`);
  if (percent < Number(values.least)) process.exitCode = 1;
}

if (import.meta.main) await main();
