/** The plan: the steps from the state of the project to the documents. Pure. */

import type { FileFinding } from "./finding.ts";
import type { Kind, PlanInput } from "./kind.ts";
import type { Step } from "./step.ts";

export interface Plan {
  /** In the order in which they are applied. */
  readonly steps: readonly Step[];
  /** Deletions of what has no document, in order. They run only with `--prune`. */
  readonly surplus: readonly Step[];
  readonly notes: readonly string[];
  /** Errors of the documents that only the server's state reveals. */
  readonly findings: readonly FileFinding[];
}

export function makePlan(kinds: readonly Kind[], input: Omit<PlanInput, "report">): Plan {
  const findings: FileFinding[] = [];
  const report = (finding: FileFinding) => findings.push(finding);
  const planned = kinds.map((kind) => kind.plan({ ...input, report }));
  return {
    steps: planned.flatMap(({ steps }) => steps),
    surplus: planned.toReversed().flatMap(({ surplus }) => surplus),
    notes: planned.flatMap(({ notes = [] }) => notes),
    findings,
  };
}
