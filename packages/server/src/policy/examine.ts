/** Checks whether a policy may become active. */

import type { ProblemFinding } from "@countersign/protocol";
import { loadPolicy, PolicyError } from "./load.ts";
import { runPolicyTests, type TestOutcome } from "./policy-tests.ts";
import type { LoadOptions, Policy, PolicyTest } from "./rule.ts";

export interface Examined {
  /** Undefined when it does not load. */
  readonly policy: Policy | undefined;
  /** Reasons against publication, including failed tests; empty when it may be published. */
  readonly findings: readonly ProblemFinding[];
  /** In the order of the file; empty when it does not load. */
  readonly tests: readonly TestOutcome[];
}

/** Time limit of all tests together. A thousand typical tests take about ten milliseconds. */
const TESTS_MS_MAX = 5_000;

/**
 * A policy may become active when it loads, all referenced names exist and its tests pass. A
 * malicious policy takes seconds, during which it blocks the thread.
 *
 * @param clock milliseconds; undefined: no time limit for tests; null: skip the tests
 */
export function examinePolicy(
  options: LoadOptions,
  source: string,
  clock?: { monotonic(): number } | null,
): Examined {
  let policy: Policy;
  try {
    policy = loadPolicy(source, options);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { policy: undefined, findings: error.findings, tests: [] };
  }
  if (clock === null) return { policy, findings: [], tests: [] };
  const tests: TestOutcome[] = [];
  let leftMs = TESTS_MS_MAX;
  for (const test of policy.tests) {
    const startedAt = clock?.monotonic() ?? 0;
    tests.push(...runPolicyTests({ ...policy, tests: [test] }));
    leftMs -= (clock?.monotonic() ?? 0) - startedAt;
    if (leftMs <= 0) return { policy, tests, findings: [...failed(tests), tooLong(test)] };
  }
  return { policy, tests, findings: failed(tests) };
}

function failed(tests: readonly TestOutcome[]): readonly ProblemFinding[] {
  return tests.filter(({ passed }) => !passed).map(toFinding);
}

function tooLong({ index, line }: PolicyTest): ProblemFinding {
  const seconds = TESTS_MS_MAX / 1000;
  const message = `the tests up to this one took longer than ${seconds} s; later tests did not run`;
  return { line, column: 1, path: `tests[${index}]`, message };
}

function toFinding({ index, line, name, expected, got }: TestOutcome): ProblemFinding {
  const which = name === undefined ? "a test" : `the test ${JSON.stringify(name)}`;
  const message = `${which} fails: expected ${expected}, got ${got}`;
  return { line, column: 1, path: `tests[${index}]`, message };
}
