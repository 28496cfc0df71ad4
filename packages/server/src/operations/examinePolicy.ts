import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import { loadPolicy, PolicyError } from "../policy/load.ts";
import { runPolicyTests, type TestOutcome } from "../policy/policy-tests.ts";
import type { Finding, KnownGroups, Policy, PolicyTest } from "../policy/rule.ts";

export interface Examined {
  /** Undefined when it does not load. */
  readonly policy: Policy | undefined;
  /** Why it may not be published; empty when it may. Failed tests are among them. */
  readonly findings: readonly Finding[];
  /** In the order of the file; none when it does not load. */
  readonly tests: readonly TestOutcome[];
}

/** Of their evaluations together; a thousand usual tests take some ten milliseconds. */
const TESTS_MS_MAX = 5_000;

/** An exchange takes several, and is not to wait for a test in each of them. */
const TURNS = 4;

/**
 * Whether a policy could be in force: it loads, what it names is known, its tests are green.
 * Other exchanges are served between the tests.
 *
 * @param groups undefined: not looked at
 * @param clock undefined: the tests may take as long as they take
 */
export async function examinePolicy(
  kind: "project" | "floor",
  source: string,
  groups: KnownGroups | undefined,
  clock?: Pick<Clock, "monotonic">,
): Promise<Examined> {
  let policy: Policy;
  try {
    policy = loadPolicy(source, { kind, groups });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { policy: undefined, findings: error.findings, tests: [] };
  }
  const tests: TestOutcome[] = [];
  let leftMs = TESTS_MS_MAX;
  for (const test of policy.tests) {
    const began = clock?.monotonic() ?? 0;
    tests.push(...runPolicyTests({ ...policy, tests: [test] }));
    leftMs -= (clock?.monotonic() ?? 0) - began;
    if (leftMs <= 0) return { policy, tests, findings: [...failed(tests), tooLong(test)] };
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
  }
  return { policy, tests, findings: failed(tests) };
}

function failed(tests: readonly TestOutcome[]): readonly Finding[] {
  return tests.filter(({ passed }) => !passed).map(toFinding);
}

function tooLong({ index, line }: PolicyTest): Finding {
  const limit = `${TESTS_MS_MAX / 1000} s`;
  const message = `the tests up to this one take longer than ${limit}; the rest was not run`;
  return { line, column: 1, path: `tests[${index}]`, message };
}

function toFinding({ index, line, name, expected, got }: TestOutcome): Finding {
  const which = name === undefined ? "a test" : `the test ${JSON.stringify(name)}`;
  const message = `${which} fails: expected ${expected}, got ${got}`;
  return { line, column: 1, path: `tests[${index}]`, message };
}
