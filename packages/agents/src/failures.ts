/** Agents with one consequence for every failure of a hook. */

import type { Consequence, HookFailures } from "./agent.ts";

type Cases = Omit<HookFailures, "blocksSince" | "observed" | "source">;

export function everyFailure(consequence: Consequence): Cases {
  return {
    otherExit: consequence,
    killed: consequence,
    notStarted: consequence,
    timeout: consequence,
    silent: consequence,
    invalidOutput: consequence,
  };
}
