/**
 * The signals of a call in a condition: those that depend on the call only.
 *
 * Guarantees: never throws, except when the steps run out; signals that cannot be computed are a
 * fault, so that no rule approves without them.
 */

import { ARGUMENTS_CHARS_MAX, cwdOf, signalsOf } from "@countersign/review-api/calls";
import { Fault } from "./fault.ts";
import type { Meter } from "./meter.ts";
import type { Call } from "./rule.ts";

const TOO_LARGE = new Fault("the arguments are too large to compute signals");
const FAILED = new Fault("the signals of the call could not be computed");

/** One step for so many characters of the arguments. */
const CHARS_PER_STEP = 4;

/** @returns a function that computes them once, at the first use */
export function lazySignals(call: Call): (meter: Meter) => readonly string[] | Fault {
  let known: readonly string[] | Fault | undefined;
  return (meter) => {
    if (known !== undefined) return known;
    meter.spend(call.args.source.length / CHARS_PER_STEP);
    known = computeSignals(call);
    return known;
  };
}

function computeSignals({ tool, server, args, context }: Call): readonly string[] | Fault {
  if (args.source.length > ARGUMENTS_CHARS_MAX) return TOO_LARGE;
  try {
    const ids = signalsOf({ tool, server, args, cwd: cwdOf(context) }).map(({ id }) => id);
    return ids.includes("unchecked") ? TOO_LARGE : ids;
  } catch {
    return FAILED;
  }
}
