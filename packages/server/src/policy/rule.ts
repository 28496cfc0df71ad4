/**
 * The types of policy: a parsed policy file, the call, and the result. Only types, except for the
 * default requirement.
 *
 * Guarantees: every value is immutable; `Requirement` and `Evaluation` are plain JSON.
 */

import type { JsonObject, ProblemFinding } from "@countersign/protocol";
import type { LineTemplate } from "@countersign/review-api/calls";
import type { Condition, TextExpression } from "./condition.ts";
import type { Glob } from "./glob.ts";
import type { CallHistory, HistoryQuery } from "./history.ts";
import type { Place } from "./place.ts";

/** The result of a rule; `deny` overrides `ask`, and `ask` overrides `approve`. */
export type Verb = "approve" | "ask" | "deny";

/** A valid policy file. */
export interface Policy {
  /** SHA-256 of the source in UTF-8, in lower-case hexadecimal: the id of this version. */
  readonly sha256: string;
  readonly source: string;
  /** True when another user than its author must publish the next version. */
  readonly isTwoPerson: boolean;
  readonly rules: readonly Rule[];
  /** Templates for the readable line of a call. */
  readonly renderers: readonly Renderer[];
  readonly tests: readonly PolicyTest[];
  /** Valid but probably unintended parts. */
  readonly warnings: readonly ProblemFinding[];
}

/** A template for the readable line of the calls of some tools. */
export interface Renderer {
  readonly tools: readonly Glob[];
  readonly template: LineTemplate;
}

export interface LoadOptions {
  /** A baseline policy applies to every project, and may not approve. */
  readonly kind: "project" | "floor";
  /** undefined: unknown here, not checked */
  readonly groups?: KnownGroups | undefined;
  /** Retention of calls, ms; undefined: unknown here, not checked */
  readonly keptMs?: number | undefined;
  /** Longest timeout of a call, ms; undefined: unknown here, not checked */
  readonly timeoutMsMax?: number | undefined;
}

/** The groups that a policy may name. */
export interface KnownGroups {
  readonly reviewers: ReadonlySet<string>;
  readonly reviewerNames: ReadonlySet<string>;
  readonly instances: ReadonlySet<string>;
  /** On-call schedules. */
  readonly schedules: ReadonlySet<string>;
}

export interface Rule {
  readonly id: string;
  /** First line of the rule in the source, from 1. */
  readonly line: number;
  readonly match: Match;
  readonly when: Condition | undefined;
  /** History queries of the condition. */
  readonly history: readonly HistoryQuery[];
  readonly verb: Verb;
  readonly note: string | undefined;
  /** Validity of an approval, from its decision. */
  readonly validityMs: number | undefined;
  /** Only with `ask`; NO_REQUIREMENT when undefined. */
  readonly ask: Ask | undefined;
}

/** The calls that a rule applies to. Every list that is present must have a matching member. */
export interface Match {
  readonly tools: readonly Glob[] | undefined;
  /** Undefined: with `approve`, only tools whose server the pattern of the tool names. */
  readonly servers: readonly Glob[] | undefined;
  readonly groups: ReadonlySet<string> | undefined;
  readonly instanceIds: ReadonlySet<string> | undefined;
  readonly instanceNames: readonly Glob[] | undefined;
}

/** The `ask:` of one rule: a {@link Requirement} before its text to type is evaluated. */
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
  /** Where approvals are permitted; undefined: everywhere. */
  readonly channels: readonly Place[] | undefined;
  readonly escalate: readonly EscalationStep[];
}

/**
 * From `afterMs` after the creation of a request, the group `to` may decide it too, or the
 * reviewers who are on call then.
 */
export interface EscalationStep {
  readonly afterMs: number;
  /** "group:x" or "oncall:x" */
  readonly to: string;
}

export interface TypeConfirm {
  readonly kind: "type";
  /** Evaluates to the text to type for one call. */
  readonly text: TextExpression;
}

/** The input of policy. */
export interface Call {
  readonly tool: string;
  /** Name of the MCP server, from the agent; undefined: none. */
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
  /** Counted history of calls; undefined when it was not counted. */
  readonly history?: CallHistory | undefined;
}

/** The result of policy. */
export interface Evaluation {
  readonly verb: Verb;
  /**
   * Id of the deciding rule (the first in alphabetical order with that verb), or one of the
   * reserved names `no-match`, `error`, `inexact`, `no-policy` or `tool_definition_change`.
   */
  readonly because: string;
  /** Ids of all rules that fired, sorted; a baseline rule is `floor/ID`. */
  readonly fired: readonly string[];
  /** At most 20, without any value of the call. */
  readonly errors: readonly RuleError[];
  readonly note: string | undefined;
  readonly validityMs: number | undefined;
  /** Meaningful only with the verb `ask`. */
  readonly requirement: Requirement;
}

export interface RuleError {
  readonly rule: string;
  /** At most 300 characters. */
  readonly message: string;
}

/** Required reviewers and confirmation. Stored with the request as this JSON. */
export interface Requirement {
  /**
   * Sets of "group:x" and "reviewer:y". The approvers must include a member of every set, and each
   * approver must be a member of at least one. Empty: any reviewer.
   */
  readonly from: readonly (readonly string[])[];
  /** Different reviewers, at least 1. */
  readonly quorum: number;
  /** Different members of each set of `from`, in its order; absent: one each. */
  readonly quorums?: readonly number[];
  /** The owner of the instance may not decide. */
  readonly excludeOwner: boolean;
  readonly confirm: ConfirmationKind;
  readonly noteRequired: boolean;
  /** Maximum decision window; null: the requested one. */
  readonly withinMs: number | null;
  /** True when a standing grant may approve instead of reviewers. */
  readonly grants: boolean;
  /** True when approvals by bots count. */
  readonly bots: boolean;
  /** Where approvals are permitted; absent: everywhere. */
  readonly channels?: readonly Place[];
  /** Steps that add groups to sets of `from` while the request waits, by time; absent: none. */
  readonly escalate?: readonly Escalation[];
}

export interface Escalation extends EscalationStep {
  /** Indices in `from` of the sets that the group joins. Empty: the step only announces. */
  readonly widens: readonly number[];
}

export type ConfirmationKind =
  | { readonly kind: "click" | "match" | "passkey" }
  | { readonly kind: "type"; readonly text: string };

/** Any one reviewer, with a click. */
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

/** Missing parts are not compared. */
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
  readonly channels: readonly Place[] | undefined;
  readonly escalate: readonly EscalationStep[] | undefined;
}
