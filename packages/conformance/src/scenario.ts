/**
 * A scenario tries one rule, or a few that are one step apart, on instances of its own.
 */

import type { RequirementId } from "./contract/index.ts";
import type { Kit } from "./kit.ts";

/** What a run may lack. */
export type Need = "decider" | "receiver" | "other-provisioner";

export interface Scenario {
  readonly id: string;
  /** The rule, as a sentence. */
  readonly title: string;
  readonly requirements: readonly RequirementId[];
  readonly needs: readonly Need[];
  /** Only where the provider is said to have this mode; both without it. */
  readonly mode?: "synchronous-only" | "asynchronous";
  /** Waits for long, so it is begun first. */
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
