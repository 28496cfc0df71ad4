/**
 * The hard limit of an evaluation in time. Steps bound it first; this holds where a step costs
 * more than it should.
 *
 * Promises: returns after the limit and a moment, whatever JavaScript ran inside. Starting the
 * watch costs about a tenth of a millisecond.
 */

import { createContext, Script } from "node:vm";

const call = new Script("run()", { filename: "policy" });
const sandbox = createContext({ run: nothing });

function nothing(): void {
  // Nothing of the last call is kept.
}

/**
 * @param limitMs milliseconds of wall time
 * @returns false when the limit stopped the work; what it wrote until then stays written
 * @throws whatever the work throws
 */
export function withinTime(limitMs: number, work: () => void): boolean {
  sandbox.run = work;
  try {
    call.runInContext(sandbox, { timeout: limitMs });
    return true;
  } catch (error) {
    if (isTimeout(error)) return false;
    throw error;
  } finally {
    sandbox.run = nothing;
  }
}

/** The error comes from the other context, so `instanceof Error` is false here. */
function isTimeout(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
