/**
 * The nouns of policy: what a policy file says once it is read, what policy is asked, and what
 * it answers. Types only, besides the requirement that asks for nothing special.
 *
 * Promises: every value here is immutable; `Requirement` and `Evaluation` are plain JSON.
 */

import type { JsonObject, ProblemFinding } from "@countersign/protocol";
import type { Condition, TextExpression } from "./condition.ts";
import type { Glob } from "./glob.ts";
import type { CallHistory, HistoryQuery } from "./history.ts";

/** What a rule says; `deny` is stronger than `ask`, and `ask` than `approve`. */
export type Verb = "approve" | "ask" | "deny";

/** A policy file that was read without a fault. */
export interface Policy {
  /** Of the source's UTF-8, in lower-case hexadecimal: the name of this version. */
  readonly sha256: string;
  readonly source: string;
  /** Whether another person than its author must publish what comes after it. */
  readonly isTwoPerson: boolean;
  readonly rules: readonly Rule[];
  readonly tests: readonly PolicyTest[];
  /** What is allowed and yet probably not meant. */
  readonly warnings: readonly ProblemFinding[];
}

export interface LoadOptions {
  /** A floor stands above every project, and may not approve. */
  readonly kind: "project" | "floor";
  /** undefined: not known here, not checked */
  readonly groups?: KnownGroups | undefined;
  /** How far back calls are kept, ms; undefined: not known here, not checked */
  readonly keptMs?: number | undefined;
}

/** What a policy may name. */
export interface KnownGroups {
  readonly reviewers: ReadonlySet<string>;
  readonly reviewerNames: ReadonlySet<string>;
  readonly instances: ReadonlySet<string>;
}

export interface Rule {
  readonly id: string;
  /** Where the rule begins in the source; from 1. */
  readonly line: number;
  readonly match: Match;
  readonly when: Condition | undefined;
  /** What the condition asks about the calls before. */
  readonly history: readonly HistoryQuery[];
  readonly verb: Verb;
  readonly note: string | undefined;
  /** Of an approval, from its decision on. */
  readonly validityMs: number | undefined;
  /** Only with `ask`; without it NO_REQUIREMENT is asked for. */
  readonly ask: Ask | undefined;
}

/** What a rule applies to: every list that is given must have a member that fits. */
export interface Match {
  readonly tools: readonly Glob[] | undefined;
  /** Of the server that a call names; empty: it names none. */
  readonly servers: readonly Glob[] | undefined;
  readonly groups: ReadonlySet<string> | undefined;
  readonly instanceIds: ReadonlySet<string> | undefined;
  readonly instanceNames: readonly Glob[] | undefined;
}

/** The `ask:` of one rule: {@link Requirement}, before its text to type is known. */
export interface Ask {
  /** "group:x" or "reviewer:y"; undefined: any reviewer */
  readonly from: readonly string[] | undefined;
  readonly quorum: number;
  readonly excludeOwner: boolean;
  readonly confirm: { readonly kind: "click" | "match" | "passkey" } | TypeConfirm;
  readonly noteRequired: boolean;
  readonly withinMs: number | null;
  readonly grants: boolean;
  readonly bots: boolean;
}

export interface TypeConfirm {
  readonly kind: "type";
  /** Says what must be typed for one call. */
  readonly text: TextExpression;
}

/** What policy is asked: everything it may see. */
export interface Call {
  readonly tool: string;
  /** What the adapter calls the MCP server; undefined: it names none. */
  readonly server?: string | undefined;
  readonly args: JsonObject;
  readonly context: JsonObject | undefined;
  readonly instance: {
    readonly id: string;
    readonly name: string;
    readonly groups: readonly string[];
  };
  /** Epoch ms. */
  readonly now: number;
  /** The counted history of calls; undefined when it was not counted. */
  readonly history?: CallHistory | undefined;
}

/** What policy answers. */
export interface Evaluation {
  readonly verb: Verb;
  /**
   * The deciding rule's id (the first in alphabetical order of those with the verb), or
   * `no-match`, `error`, `inexact` or `no-policy`: no rule can have one of these names.
   */
  readonly because: string;
  /** The ids of all rules that fired, sorted; a rule of the floor is `floor/ID`. */
  readonly fired: readonly string[];
  /** At most 20; without any value of the call. */
  readonly errors: readonly RuleError[];
  readonly note: string | undefined;
  readonly validityMs: number | undefined;
  /** Has a meaning when the verb is `ask`. */
  readonly requirement: Requirement;
}

export interface RuleError {
  readonly rule: string;
  /** At most 300 characters. */
  readonly message: string;
}

/** Who must decide, and how. JSON as it is: it is stored with the request. */
export interface Requirement {
  /**
   * Sets of "group:x" and "reviewer:y". Together the approvers hold a member of every set, and
   * each of them is a member of at least one. Empty: any reviewer.
   */
  readonly from: readonly (readonly string[])[];
  /** Distinct people, at least 1. */
  readonly quorum: number;
  /** Distinct members of each set of `from`, in its order; absent: one of each. */
  readonly quorums?: readonly number[];
  /** The owner of the instance may not decide. */
  readonly excludeOwner: boolean;
  readonly confirm: ConfirmationKind;
  readonly noteRequired: boolean;
  /** The longest decision window; null: as the request asked. */
  readonly withinMs: number | null;
  /** Whether a standing grant may answer in place of people. */
  readonly grants: boolean;
  /** Whether approvals by bots count as those of people. */
  readonly bots: boolean;
}

export type ConfirmationKind =
  | { readonly kind: "click" | "match" | "passkey" }
  | { readonly kind: "type"; readonly text: string };

/** Any one reviewer, by a click. */
export const NO_REQUIREMENT: Requirement = Object.freeze({
  from: Object.freeze([]),
  quorum: 1,
  excludeOwner: false,
  confirm: Object.freeze({ kind: "click" }),
  noteRequired: false,
  withinMs: null,
  grants: true,
  bots: false,
});

/** One entry of `tests:`. */
export interface PolicyTest {
  /** From 0. */
  readonly index: number;
  readonly name: string | undefined;
  readonly line: number;
  readonly given: Call;
  readonly expect: Expectation;
}

/** What is not given is not compared. */
export interface Expectation {
  readonly verb: Verb;
  readonly because: string | undefined;
  readonly validityMs: number | undefined;
  readonly ask: ExpectedAsk | undefined;
}

/** Parts of a {@link Requirement}. */
export interface ExpectedAsk {
  readonly from: Requirement["from"] | undefined;
  readonly quorum: number | undefined;
  readonly excludeOwner: boolean | undefined;
  /** click, type, match, passkey, or type(THE TEXT) */
  readonly confirm: string | undefined;
  readonly noteRequired: boolean | undefined;
  readonly withinMs: number | undefined;
  readonly grants: boolean | undefined;
  readonly bots: boolean | undefined;
}
