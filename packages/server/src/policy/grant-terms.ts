/**
 * Matches the terms of a grant against a call.
 *
 * Guarantees: terms that cannot be parsed or evaluated match nothing. Compiled terms are cached in
 * a map of bounded size; they never change.
 */

import { RecentlyUsed } from "../recently-used.ts";
import { type Condition, ConditionError, compileCondition } from "./condition.ts";
import { RULE_STEPS_MAX } from "./evaluate.ts";
import { evaluateConditions } from "./evaluate-conditions.ts";
import { type Glob, matchesGlob, readGlob } from "./glob.ts";
import { Meter } from "./meter.ts";
import type { Call } from "./rule.ts";

/**
 * A glob and a condition over the call; `session` is the text of `context.session_id`. `server`
 * must equal the call's server. Without it, only calls without a server match, because tools of
 * different servers may have the same name.
 */
export interface Terms {
  readonly tool: string;
  readonly server?: string;
  readonly when?: string;
  readonly session?: string;
}

export interface TermsFault {
  readonly field: "tool" | "when";
  /** Completes a sentence that starts with the name of the field. */
  readonly message: string;
}

/** The fault of a grant's terms; undefined when they are valid. */
export function termsFault({ tool, when }: Terms): TermsFault | undefined {
  if (readGlob(tool) === undefined) {
    return {
      field: "tool",
      message: "must be a glob: * and ?, with \\ before a literal character",
    };
  }
  try {
    if (when !== undefined) compileCondition(when, { kind: "grant" });
    return undefined;
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    return { field: "when", message: `is not a valid condition: ${error.message}`.slice(0, 500) };
  }
}

/**
 * The terms that match the call, within the limits of one evaluation for all terms. Terms that
 * exceed the limit match nothing. Never throws.
 */
export function findMatchingTerms<T extends Terms>(all: readonly T[], call: Call): ReadonlySet<T> {
  const meter = new Meter(RULE_STEPS_MAX);
  const fitting = all.flatMap((terms) => {
    const compiled = compiledIfNamed(terms, call, meter);
    return compiled === undefined ? [] : [{ terms, condition: compiled.condition }];
  });
  if (fitting.length === 0) return new Set();
  const conditions = fitting.flatMap(({ condition }) => condition ?? []);
  const outcomes = evaluateConditions(conditions, call).values();
  // In the same order: one outcome for each condition.
  const holds = (condition: Condition | undefined) =>
    condition === undefined || outcomes.next().value?.holds === true;
  return new Set(fitting.filter(({ condition }) => holds(condition)).map(({ terms }) => terms));
}

/** @returns undefined when session, server or tool do not match */
function compiledIfNamed(terms: Terms, call: Call, meter: Meter): Compiled | undefined {
  try {
    if (terms.session !== undefined && sessionOf(call) !== terms.session) return undefined;
    if (call.server !== terms.server) return undefined;
    const made = compiled(terms);
    return matchesGlob(made.glob, call.tool, meter) ? made : undefined;
  } catch {
    return undefined;
  }
}

/** The session of a call, as the agent reported it. */
export function sessionOf({ context }: Pick<Call, "context">): string | undefined {
  const session = context?.members.get("session_id");
  return typeof session === "string" ? session : undefined;
}

/** A pattern that matches exactly this text. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?]/g, "\\$&");
}

interface Compiled {
  readonly glob: Glob;
  readonly condition: Condition | undefined;
}

const COMPILED_MAX = 500;

const kept = new RecentlyUsed<string, Compiled>(COMPILED_MAX);

/** @throws when the terms can no longer be parsed */
function compiled({ tool, when }: Terms): Compiled {
  const key = JSON.stringify([tool, when]);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const glob = readGlob(tool);
  if (glob === undefined) throw new Error("the tool of a grant is not a glob");
  const condition = when === undefined ? undefined : compileCondition(when, { kind: "grant" });
  const made = { glob, condition };
  kept.set(key, made);
  return made;
}
