/**
 * Whether a policy could be active.
 */

import type { ProblemFinding } from "@countersign/protocol";
import { loadPolicy, PolicyError } from "./load.ts";
import { runPolicyTests, type TestOutcome } from "./policy-tests.ts";
import type { LoadOptions, Policy, PolicyTest } from "./rule.ts";

export interface Examined {
  /** Undefined when it does not load. */
  readonly policy: Policy | undefined;
  /** Why it may not be published; empty when it may. Failed tests are among them. */
  readonly findings: readonly ProblemFinding[];
  /** In the order of the file; none when it does not load. */
  readonly tests: readonly TestOutcome[];
}

/** Of their evaluations together; a thousand usual tests take some ten milliseconds. */
const TESTS_MS_MAX = 5_000;

/**
 * It could be active when it loads, what it names is known and its tests are green. A malicious
 * policy takes seconds, during which it blocks the thread.
 *
 * @param clock milliseconds; undefined: the tests may take as long as they take; null: they are
 *   not run
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
    const began = clock?.monotonic() ?? 0;
    tests.push(...runPolicyTests({ ...policy, tests: [test] }));
    leftMs -= (clock?.monotonic() ?? 0) - began;
    if (leftMs <= 0) return { policy, tests, findings: [...failed(tests), tooLong(test)] };
  }
  return { policy, tests, findings: failed(tests) };
}

function failed(tests: readonly TestOutcome[]): readonly ProblemFinding[] {
  return tests.filter(({ passed }) => !passed).map(toFinding);
}

function tooLong({ index, line }: PolicyTest): ProblemFinding {
  const seconds = TESTS_MS_MAX / 1000;
  const message = `the tests up to this one take longer than ${seconds} s; the rest was not run`;
  return { line, column: 1, path: `tests[${index}]`, message };
}

function toFinding({ index, line, name, expected, got }: TestOutcome): ProblemFinding {
  const which = name === undefined ? "a test" : `the test ${JSON.stringify(name)}`;
  const message = `${which} fails: expected ${expected}, got ${got}`;
  return { line, column: 1, path: `tests[${index}]`, message };
}
