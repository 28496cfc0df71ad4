/**
 * A scenario tries one rule, or a few that are one step apart, on instances of its own.
 */

import type { RequirementId } from "./contract/index.ts";
import type { Kit } from "./kit.ts";

/** Optional tools of a run that a scenario can need. */
export type Need = "decider" | "receiver" | "other-provisioner";

export interface Scenario {
  readonly id: string;
  /** The rule, as a sentence. */
  readonly title: string;
  readonly requirements: readonly RequirementId[];
  readonly needs: readonly Need[];
  /** Runs only for providers of this mode. Default: both modes. */
  readonly mode?: "synchronous-only" | "asynchronous";
  /** Waits for a long time, so it starts first. */
  readonly isSlow?: boolean;
  /** @throws Violation, NotTested */
  run(kit: Kit): Promise<void>;
}

export function scenario(
  id: string,
  title: string,
  requirements: readonly RequirementId[],
  run: (kit: Kit) => Promise<void>,
  options: Partial<Pick<Scenario, "needs" | "mode" | "isSlow">> = {},
): Scenario {
  return { id, title, requirements, needs: [], ...options, run };
}
