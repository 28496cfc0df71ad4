/**
 * The terms of a grant, held against a call.
 *
 * Called by: createGrant (what is wrong with them), useGrant (whether they fit).
 * Promises: whatever cannot be read or evaluated fits nothing. Compiled terms are kept in a map of
 * bounded size; they never change.
 */

import { RecentlyUsed } from "../recently-used.ts";
import { type Condition, ConditionError, compileCondition } from "./condition.ts";
import { evaluateCondition, isInexactCall, RULE_STEPS_MAX } from "./evaluate.ts";
import { fitsGlob, type Glob, readGlob } from "./glob.ts";
import { Meter } from "./meter.ts";
import type { Call } from "./rule.ts";

/** A glob and a condition over the call; `session` is the text of `context.session_id`. */
export interface Terms {
  readonly tool: string;
  readonly when?: string;
  readonly session?: string;
}

export interface TermsFault {
  readonly field: "tool" | "when";
  /** Completes a sentence that begins with the name of the field. */
  readonly message: string;
}

/** What is wrong with terms that somebody wrote; undefined when nothing is. */
export function termsFault({ tool, when }: Terms): TermsFault | undefined {
  if (readGlob(tool) === undefined) {
    return {
      field: "tool",
      message: "must be a glob: * and ?, and \\ before what is meant as it is",
    };
  }
  try {
    if (when !== undefined) compileCondition(when, { kind: "grant" });
    return undefined;
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { field: "when", message: `is no condition: ${error.message}`.slice(0, 500) };
  }
}

/** Whether a grant of these terms answers the call. Never throws. */
export function termsFit(terms: Terms, call: Call): boolean {
  try {
    if (terms.session !== undefined && sessionOf(call) !== terms.session) return false;
    const { glob, condition } = compiled(terms);
    if (!fitsGlob(glob, call.tool, new Meter(RULE_STEPS_MAX))) return false;
    if (isInexactCall(call)) return false;
    return condition === undefined || evaluateCondition(condition, call).holds;
  } catch {
    return false;
  }
}

/** The session that an adapter says a call belongs to. */
export function sessionOf({ context }: Pick<Call, "context">): string | undefined {
  const session = context?.members.get("session_id");
  return typeof session === "string" ? session : undefined;
}

/** A pattern that fits exactly this text. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?]/g, "\\$&");
}

interface Compiled {
  readonly glob: Glob;
  readonly condition: Condition | undefined;
}

const COMPILED_MAX = 500;

const kept = new RecentlyUsed<string, Compiled>(COMPILED_MAX);

/** @throws when the terms cannot be read any more */
function compiled({ tool, when }: Terms): Compiled {
  const key = JSON.stringify([tool, when]);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const glob = readGlob(tool);
  if (glob === undefined) throw new Error("the tool of a grant is no glob");
  const condition = when === undefined ? undefined : compileCondition(when, { kind: "grant" });
  const made = { glob, condition };
  kept.set(key, made);
  return made;
}
