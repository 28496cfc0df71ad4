/** Applies steps in order, and stops at the first failure. */

import { CommandError } from "@countersign/command-line";
import type { ReviewerApi } from "../reviewer-api.ts";
import type { SecretFolder } from "./secret-folder.ts";
import type { Step } from "./step.ts";

export interface Outcome {
  /** The steps that took effect. */
  readonly applied: readonly Step[];
  /** The steps that the server accepted, and that wait for an action of a person. */
  readonly waiting: readonly Step[];
  readonly failed?: { readonly step: Step; readonly error: CommandError };
  /** The steps after the failure. */
  readonly notApplied: readonly Step[];
}

/** @param onDone receives each step after it, with `waitsFor` if it waits */
export async function runSteps(
  steps: readonly Step[],
  api: ReviewerApi,
  secrets: SecretFolder,
  onDone: (step: Step) => void,
): Promise<Outcome> {
  const applied: Step[] = [];
  const waiting: Step[] = [];
  for (const [index, step] of steps.entries()) {
    try {
      const { waitsFor } = await secrets.run(step, api);
      const done = waitsFor === undefined ? step : { ...step, waitsFor };
      (waitsFor === undefined ? applied : waiting).push(done);
      onDone(done);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return { applied, waiting, failed: { step, error }, notApplied: steps.slice(index + 1) };
    }
  }
  return { applied, waiting, notApplied: [] };
}
