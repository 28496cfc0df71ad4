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
import { type Glob, readGlob } from "./glob.ts";
import { Meter } from "./meter.ts";
import type { Call } from "./rule.ts";
import { type CallNames, type NamePatterns, namesForApproval, namesOfCall } from "./tool-names.ts";

/**
 * A glob and a condition over the call. `server` must equal the call's server. Without it, only
 * calls without a server match, and calls whose joined name the glob spells, because tools of
 * different servers may have the same name. With `anyServer`, the server does not matter.
 */
export interface Terms {
  readonly tool: string;
  readonly server?: string;
  readonly anyServer?: true;
  readonly when?: string;
  /** The text of `context.session_id`. */
  readonly session?: string;
  /** A turn of `session`; see {@link turnOf}. Without a session, it matches nothing. */
  readonly turn?: string;
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
  const names = namesOfCall(call);
  const fitting = all.flatMap((terms) => {
    const found = namesOfTerms(terms, call, names, meter);
    return found === undefined ? [] : [{ terms, ...found }];
  });
  if (fitting.length === 0) return new Set();
  const conditions = fitting.flatMap(({ condition, names }) =>
    condition === undefined ? [] : names.map((tool) => ({ condition, tool })),
  );
  const outcomes = evaluateConditions(conditions, call).values();
  // In the same order: one outcome for each condition and name. All of them must hold.
  const holds = ({ condition, names }: NamedTerms) =>
    condition === undefined ||
    names.map(() => outcomes.next().value?.holds === true).every(Boolean);
  return new Set(fitting.filter(holds).map(({ terms }) => terms));
}

interface NamedTerms {
  readonly condition: Condition | undefined;
  /** The names by which the glob matches the call. */
  readonly names: readonly string[];
}

/** @returns undefined when session, turn, server or tool do not match */
function namesOfTerms(
  terms: Terms,
  call: Call,
  callNames: CallNames,
  meter: Meter,
): NamedTerms | undefined {
  try {
    if (!fitsScope(terms, call)) return undefined;
    const { glob, condition } = compiled(terms);
    const names = serverPatterns(terms).flatMap((fitsServer) =>
      namesForApproval(callNames, { tools: [glob], fitsServer }, meter),
    );
    return names.length === 0 ? undefined : { condition, names: [...new Set(names)] };
  } catch {
    return undefined;
  }
}

/** True when the call is in the session and in the turn of the terms. */
function fitsScope({ session, turn }: Terms, call: Call): boolean {
  if (turn !== undefined && (session === undefined || turnOf(call) !== turn)) return false;
  return session === undefined || sessionOf(call) === session;
}

type ServerPattern = NamePatterns["fitsServer"];

/** The patterns for the server of a call, of which one must match. Undefined: without a server. */
function serverPatterns({ server, anyServer }: Terms): readonly ServerPattern[] {
  if (anyServer === true) return [undefined, () => true];
  return [server === undefined ? undefined : (name) => name === server];
}

/** The session of a call, as the agent reported it. */
export function sessionOf({ context }: Pick<Call, "context">): string | undefined {
  const session = context?.members.get("session_id");
  return typeof session === "string" ? session : undefined;
}

/** Members of the context with the id of a turn: of Codex, and of a prompt of Claude Code. */
const TURN_MEMBERS = ["turn_id", "prompt_id"];

/**
 * The turn of a call, as the agent reported it: all calls between one input of the user and the
 * next one. Undefined when the context has no text for it.
 */
export function turnOf({ context }: Pick<Call, "context">): string | undefined {
  const member = TURN_MEMBERS.find((name) => context?.members.has(name));
  const turn = member === undefined ? undefined : context?.members.get(member);
  return typeof turn === "string" && turn !== "" ? turn : undefined;
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
