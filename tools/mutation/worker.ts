/**
 * A process that runs tests against mutants, one after the other: the modules of the repository are
 * loaded anew for each, with the text of the mutant in place of its file; nothing on disk changes.
 */

import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Collected, runTest, takeCollected } from "./collected-tests.ts";

export interface Order {
  /** Absolute. */
  readonly file: string;
  /** Of the file; its own when undefined. */
  readonly text: string | undefined;
  /** Absolute. */
  readonly tests: readonly string[];
  /** Names of tests that come after all others. */
  readonly late: readonly string[];
}

export interface Outcome {
  /** The name of the test that failed, or what else did; undefined when all passed. */
  readonly killedBy: string | undefined;
  /** Names of slow tests. Only tests that may run in another order are listed. */
  readonly slow: readonly string[];
}

type Test = Collected["tests"][number];

const SLOW_MS = 300;

const ROOT = pathToFileURL(resolve(dirname(fileURLToPath(import.meta.url)), "../.."));
const OWN = pathToFileURL(import.meta.dirname).href;
const STAND_IN = new URL("collected-tests.ts", import.meta.url).href;

/** Of modules as they are on disk, without types. */
const stripped = new Map<string, string>();
let round = 0;
let order: Order | undefined;

function isOurs(url: string): boolean {
  return (
    url.startsWith(`${ROOT.href}/`) && !url.includes("/node_modules/") && !url.startsWith(`${OWN}/`)
  );
}

registerHooks({
  resolve(specifier, context, next) {
    // Asked for by this process itself, it is already there.
    if (specifier === "node:test") return { url: STAND_IN, shortCircuit: true };
    const resolved = next(specifier, context);
    if (!isOurs(resolved.url) || !/\.ts$/.test(resolved.url)) return resolved;
    return { ...resolved, url: `${resolved.url}?round=${round}` };
  },
  load(url, context, next) {
    const [plain = ""] = url.split("?", 1);
    if (plain === url || !isOurs(plain)) return next(url, context);
    const path = fileURLToPath(plain);
    if (order?.text !== undefined && path === order.file) {
      const source = stripTypeScriptTypes(order.text);
      return { format: "module", shortCircuit: true, source };
    }
    let source = stripped.get(path);
    if (source === undefined) {
      source = stripTypeScriptTypes(readFileSync(path, "utf8"));
      stripped.set(path, source);
    }
    return { format: "module", shortCircuit: true, source };
  },
});

let stray: unknown;
process.on("uncaughtException", (error) => {
  stray = error;
});
process.on("unhandledRejection", (error) => {
  stray = error;
});

async function judge(): Promise<Outcome> {
  stray = undefined;
  takeCollected();
  const slow: string[] = [];
  const late: Test[] = [];
  for (const path of order?.tests ?? []) {
    const killedBy = await judgeBy(path, slow, late);
    if (killedBy !== undefined) return { killedBy, slow };
  }
  return { killedBy: await runAll(late, []), slow };
}

/** @returns what failed */
async function judgeBy(path: string, slow: string[], late: Test[]): Promise<string | undefined> {
  let end: (() => unknown)[] = [];
  try {
    await import(`${pathToFileURL(path).href}?round=${round}`);
    const { tests, before, after } = takeCollected();
    end = after;
    for (const prepare of before) await prepare();
    // Shared state ends with the last test of the file.
    if (before.length > 0 || after.length > 0) return await runAll(tests, []);
    const { now = [], later = [] } = Object.groupBy(tests, ({ name }) =>
      order?.late.includes(name) ? "later" : "now",
    );
    late.push(...later);
    return await runAll(now, slow);
  } catch (error) {
    takeCollected();
    return `the file: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    for (const each of end) await Promise.resolve(each()).catch(() => {});
  }
}

/** @returns the name of the first that failed */
async function runAll(tests: readonly Test[], slow: string[]): Promise<string | undefined> {
  for (const each of tests) {
    const startedAt = performance.now();
    try {
      await runTest(each);
    } catch {
      return each.name;
    }
    if (stray !== undefined) return `${each.name} (stray)`;
    if (performance.now() - startedAt > SLOW_MS) slow.push(each.name);
  }
  return undefined;
}

process.on("message", (message: Order) => {
  order = message;
  round++;
  judge().then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ killedBy: `the end: ${String(error)}`, slow: [] }),
  );
});
process.on("disconnect", () => process.exit());
