/**
 * Checks the dependencies: the rules of lockfile-rules.ts, and known vulnerabilities in the shipped
 * packages.
 *
 *   npm run supply-chain
 *
 * The exit code is 1 when something is wrong. A registry that cannot be asked about vulnerabilities
 * is reported clearly, and is not a failure: not every network has one.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Lockfile, lockfileFaults } from "./lockfile-rules.ts";

const ROOT = resolve(import.meta.dirname, "../..");

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8")) as T;
}

export function faultsHere(): string[] {
  const { allowScripts } = readJson<{ allowScripts: Record<string, boolean> }>("package.json");
  return lockfileFaults(readJson<Lockfile>("package-lock.json"), allowScripts);
}

/** @returns undefined when the registry could not be asked */
export function readAudit(output: string): number | undefined {
  try {
    const { metadata } = JSON.parse(output) as {
      metadata?: { vulnerabilities?: { high?: number; critical?: number } };
    };
    const counts = metadata?.vulnerabilities;
    return counts === undefined ? undefined : (counts.high ?? 0) + (counts.critical ?? 0);
  } catch {
    return undefined;
  }
}

function main(): void {
  const faults = faultsHere();
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  const order = ["audit", "--omit=dev", "--audit-level=high", "--json"];
  const { stdout } = spawnSync("npm", order, { cwd: ROOT, encoding: "utf8", timeout: 60_000 });
  const known = readAudit(stdout ?? "");
  if (known === undefined) {
    process.stdout.write(
      "\n*** NOT AUDITED: the registry gave no answer about known vulnerabilities. ***\n\n",
    );
  } else if (known > 0) {
    process.stdout.write(`${stdout}\n${known} known vulnerabilities in what is shipped\n`);
  }
  if (faults.length > 0 || (known ?? 0) > 0) process.exitCode = 1;
  else process.stdout.write("the lockfile is as its rules say\n");
}

if (import.meta.main) main();
