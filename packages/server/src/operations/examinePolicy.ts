import { setImmediate as nextTurn } from "node:timers/promises";
import { loadPolicy, PolicyError } from "../policy/load.ts";
import { runPolicyTests, type TestOutcome } from "../policy/policy-tests.ts";
import type { Finding, KnownGroups, Policy } from "../policy/rule.ts";

export interface Examined {
  /** Undefined when it does not load. */
  readonly policy: Policy | undefined;
  /** Why it may not be published; empty when it may. Failed tests are among them. */
  readonly findings: readonly Finding[];
  /** In the order of the file; none when it does not load. */
  readonly tests: readonly TestOutcome[];
}

/**
 * Whether a policy could be in force: it loads, what it names is known, its tests are green.
 * Other exchanges are served between the tests.
 *
 * @param groups undefined: not looked at
 */
export async function examinePolicy(
  kind: "project" | "floor",
  source: string,
  groups: KnownGroups | undefined,
): Promise<Examined> {
  let policy: Policy;
  try {
    policy = loadPolicy(source, { kind, groups });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { policy: undefined, findings: error.findings, tests: [] };
  }
  const tests: TestOutcome[] = [];
  for (const test of policy.tests) {
    tests.push(...runPolicyTests({ ...policy, tests: [test] }));
    await nextTurn();
  }
  return { policy, tests, findings: tests.filter(({ passed }) => !passed).map(toFinding) };
}

function toFinding({ index, line, name, expected, got }: TestOutcome): Finding {
  const which = name === undefined ? "a test" : `the test ${JSON.stringify(name)}`;
  const message = `${which} fails: expected ${expected}, got ${got}`;
  return { line, column: 1, path: `tests[${index}]`, message };
}
