/**
 * Evaluates the policies for one call.
 *
 * `deny` overrides `ask`, and `ask` overrides `approve`. Without a matching rule, the result is
 * `ask`. The order of rules in the file has no effect. Any error results in `ask`: a failure never
 * approves.
 *
 * Guarantees: never throws; returns the same result for the same call; returns within the time
 * limit.
 */

import { lazySignals } from "./call-signals.ts";
import type { Condition } from "./condition.ts";
import { Fault } from "./fault.ts";
import { type HistoryQuery, historyKey } from "./history.ts";
import type { Scope } from "./interpret.ts";
import {
  candidateRules,
  compareEvaluationOrder,
  historyQueriesFor,
  type MatchingRule,
  matchesInstance,
  namesMatching,
  rulesMatchingTool,
} from "./matching.ts";
import { Meter, StepsExceeded } from "./meter.ts";
import { mergeRequirements, requirementOfRule } from "./requirement.ts";
import {
  type Call,
  type Evaluation,
  NO_REQUIREMENT,
  type Policy,
  type Requirement,
  type Rule,
  type RuleError,
} from "./rule.ts";
import { withinTime } from "./time-limit.ts";
import { requirePersonAfterChange } from "./tool-change.ts";
import { namesInTexts, type ToolName } from "./tool-names.ts";
import { type CelKey, type CelMap, type CelValue, fromJson, Timestamp } from "./values.ts";

/** Wall time of one evaluation. */
export const TIME_LIMIT_MS = 50;

/** Steps of one condition: the same number on every machine. */
export const RULE_STEPS_MAX = 1_000_000;

/** Below this number, no time is measured: it takes well under a millisecond. */
export const UNTIMED_STEPS = 20_000;

/** Prefix of baseline rule ids. No id of a project's rule has it. */
const FLOOR = "floor/";

const ERRORS_MAX = 20;
const MESSAGE_CHARS_MAX = 300;
const TYPED_CHARS_MAX = 200;

export interface Policies {
  readonly floor?: Policy | undefined;
  readonly project?: Policy | undefined;
}

/** The history queries of all rules that may apply to a tool. */
export function historyQueriesOf(
  { floor, project }: Policies,
  tool: ToolName,
): readonly HistoryQuery[] {
  const queries = new Map<string, HistoryQuery>();
  for (const [policy, prefix] of qualify({ floor, project })) {
    for (const each of historyQueriesFor(policy, prefix, tool)) queries.set(historyKey(each), each);
  }
  return [...queries.values()];
}

export function evaluatePolicies(policies: Policies, call: Call): Evaluation {
  return requirePersonAfterChange(evaluateRules(policies, call), call.context);
}

function evaluateRules(policies: Policies, call: Call): Evaluation {
  if (policies.floor === undefined && policies.project === undefined) return asks("no-policy");
  try {
    return new EvaluationRun(policies, call).evaluate();
  } catch (error) {
    // Unexpected, so earlier results are not used either.
    const message = error instanceof Error ? error.name : "unknown";
    return {
      ...asks("error"),
      ...strictestRequirement(qualify(policies)),
      errors: [{ rule: "", message: `the evaluation failed: ${message}` }],
    };
  }
}

function asks(because: string): Evaluation {
  return {
    verb: "ask",
    because,
    fired: [],
    errors: [],
    note: undefined,
    validityMs: undefined,
    requirement: NO_REQUIREMENT,
  };
}

export const TIME_LIMIT_FAULT = new Fault(`the evaluation took longer than ${TIME_LIMIT_MS} ms`);
const TOO_MANY_STEPS = new Fault("the condition takes too many steps");
export const EVALUATION_FAULT = new Fault("the condition could not be evaluated");

export function faultOf(error: unknown): Fault {
  return error instanceof StepsExceeded ? TOO_MANY_STEPS : EVALUATION_FAULT;
}

/** The result of the condition of a rule. */
type RuleResult = "fired" | "quiet" | Fault;

/** The result of one applicable rule. */
interface Outcome {
  readonly qualified: MatchingRule;
  /** undefined: not evaluated yet */
  result: RuleResult | undefined;
  /** Result of `confirm: type(...)`, for a rule with `ask`. */
  text: string | Fault | undefined;
}

/** A policy with the prefix of its rules. */
type QualifiedPolicy = readonly [Policy, string];

function qualify({ floor, project }: Policies): readonly QualifiedPolicy[] {
  return [
    ...(floor === undefined ? [] : [[floor, FLOOR] as const]),
    ...(project === undefined ? [] : [[project, ""] as const]),
  ];
}

/**
 * Merges the requirements of all rules with `ask`. When it is unknown which of them apply, an agent
 * must not gain an easier requirement by causing that.
 */
function strictestRequirement(
  policies: readonly QualifiedPolicy[],
): Pick<Evaluation, "requirement" | "validityMs"> {
  const asking = policies.flatMap(([policy, prefix]) =>
    policy.rules
      .filter(({ verb }) => verb === "ask")
      .map((rule) => ({
        qualified: { rule, id: prefix + rule.id, names: [] },
        result: EVALUATION_FAULT,
        text: undefined,
      })),
  );
  return { requirement: requirementOf(asking), validityMs: shortestValidity(asking) };
}

class EvaluationRun {
  readonly #policies: readonly QualifiedPolicy[];
  readonly #call: Call;
  #scope: Scope | undefined;
  /** In evaluation order; either pass fills it. */
  #outcomes: Outcome[] = [];

  constructor(policies: Policies, call: Call) {
    this.#policies = qualify(policies);
    this.#call = call;
  }

  evaluate(): Evaluation {
    if (!this.#unwatched()) this.#watched();
    return this.#conclude();
  }

  /**
   * Evaluates without measuring time, which suffices for most calls. @returns false when the steps
   * ran out
   */
  #unwatched(): boolean {
    const meter = new Meter(UNTIMED_STEPS);
    try {
      meter.spend(sizeOf(this.#call) / 32);
      this.#prepare(meter);
      for (const outcome of this.#outcomes) this.#evaluate(outcome, meter);
      return true;
    } catch (error) {
      if (error instanceof StepsExceeded) return false;
      throw error;
    }
  }

  /** Continues after the first pass ran out of steps, with many more for each rule. */
  #watched(): void {
    withinTime(TIME_LIMIT_MS, () => {
      if (this.#scope === undefined) this.#prepare(undefined);
      for (const outcome of this.#outcomes) {
        try {
          this.#evaluate(outcome, new Meter(RULE_STEPS_MAX));
        } catch (error) {
          if (outcome.result === undefined) outcome.result = faultOf(error);
          else outcome.text = faultOf(error);
        }
      }
    });
  }

  /** @param shared limits the matching of all rules together; undefined: a limit for each */
  #prepare(shared: Meter | undefined): void {
    const outcomes = shared === undefined ? this.#findEach() : this.#findTogether(shared);
    if (this.#policies.length > 1)
      outcomes.sort((a, b) => compareEvaluationOrder(a.qualified, b.qualified));
    this.#outcomes = outcomes;
    this.#scope = scopeOf(this.#call, shared ?? new Meter(RULE_STEPS_MAX));
  }

  #findTogether(meter: Meter): Outcome[] {
    const call = this.#call;
    const outcomes: Outcome[] = [];
    for (const [policy, prefix] of this.#policies) {
      for (const qualified of rulesMatchingTool(policy, prefix, call, meter)) {
        if (!matchesInstance(qualified.rule.match, call, meter)) continue;
        outcomes.push({ qualified, result: undefined, text: undefined });
      }
    }
    return outcomes;
  }

  /** A rule with a match that takes too long counts as an applicable rule that failed. */
  #findEach(): Outcome[] {
    const outcomes: Outcome[] = [];
    for (const [policy, prefix] of this.#policies) {
      for (const { rule, id } of candidateRules(policy, prefix, this.#call)) {
        let names: readonly string[] = [];
        let result: Fault | undefined;
        try {
          names = namesMatching(rule, this.#call, new Meter(RULE_STEPS_MAX));
          if (names.length === 0) continue;
        } catch (error) {
          result = faultOf(error);
        }
        outcomes.push({ qualified: { rule, id, names }, result, text: undefined });
      }
    }
    return outcomes.sort((a, b) => compareEvaluationOrder(a.qualified, b.qualified));
  }

  #evaluate(outcome: Outcome, meter: Meter): void {
    const scope = this.#scope;
    if (scope === undefined) return;
    const { rule } = outcome.qualified;
    scope.meter = meter;
    outcome.result ??= this.#conditionResult(outcome.qualified, scope);
    const confirm = rule.ask?.confirm;
    if (confirm?.kind !== "type" || outcome.result === "quiet") return;
    outcome.text ??= typedText(confirm.text.evaluate(scope));
  }

  /** The names that a condition reads as `tool`, one after another. */
  #namesRead({ rule: { verb }, names }: MatchingRule, when: Condition): readonly string[] {
    if (verb === "approve") return names;
    // A call that an approval matches by a joined name must pass other rules by that name too.
    const approved = this.#outcomes
      .filter(({ qualified }) => qualified.rule.verb === "approve")
      .flatMap(({ qualified }) => qualified.names);
    const meant = namesInTexts(this.#call, when.texts);
    return [...new Set([...names, ...approved, ...meant])];
  }

  /** An approval requires its condition for each name, and a denial or question for one name. */
  #conditionResult(qualified: MatchingRule, scope: Scope): RuleResult {
    const { rule } = qualified;
    const { when } = rule;
    if (when?.readsTool !== true) return conditionResult(rule, scope);
    const results: RuleResult[] = [];
    try {
      for (const name of this.#namesRead(qualified, when)) {
        scope.tool = name;
        results.push(conditionResult(rule, scope));
      }
    } finally {
      scope.tool = this.#call.tool;
    }
    const isDecisive = (result: RuleResult): boolean =>
      rule.verb === "approve" ? result !== "fired" : result === "fired";
    const isFault = (result: RuleResult): boolean => result instanceof Fault;
    return results.find(isDecisive) ?? results.find(isFault) ?? results[0] ?? "quiet";
  }

  #conclude(): Evaluation {
    const outcomes = this.#outcomes.filter(({ result }) => result !== "quiet");
    for (const outcome of outcomes) outcome.result ??= TIME_LIMIT_FAULT;
    const fired = outcomes.filter(({ result }) => result === "fired");
    const base = {
      fired: fired.map(({ qualified }) => qualified.id).sort(),
      errors: errorsOf(outcomes),
      note: undefined,
      validityMs: undefined,
      requirement: NO_REQUIREMENT,
    };
    // The time ran out before the rules were found.
    if (this.#scope === undefined) {
      const errors = [{ rule: "", ...TOO_LONG_ERROR }];
      return {
        ...base,
        verb: "ask",
        because: "error",
        ...strictestRequirement(this.#policies),
        errors,
      };
    }
    const deny = fired.find(({ qualified }) => qualified.rule.verb === "deny");
    if (deny !== undefined) {
      return { ...base, verb: "deny", because: deny.qualified.id, note: deny.qualified.rule.note };
    }
    const asks = fired.filter(({ qualified }) => qualified.rule.verb === "ask");
    const approvals = fired.filter(({ qualified }) => qualified.rule.verb === "approve");
    const because = asks[0]?.qualified.id ?? this.#causeOfAsking(outcomes, approvals.length > 0);
    if (because !== undefined) {
      // A failed rule with `ask` still contributes its requirement: omitting a field must not lead
      // to an easier one.
      const asking = outcomes.filter(({ qualified }) => qualified.rule.verb === "ask");
      return {
        ...base,
        verb: "ask",
        because,
        note: firstNote([...asks, ...asking]),
        validityMs: shortestValidity(asking),
        requirement: requirementOf(asking),
      };
    }
    const [first] = approvals;
    if (first === undefined) return { ...base, verb: "ask", because: "no-match" };
    return {
      ...base,
      verb: "approve",
      because: first.qualified.id,
      note: first.qualified.rule.note,
      validityMs: shortestValidity(approvals),
    };
  }

  /** Why reviewers decide although no rule with `ask` fired; undefined when they need not. */
  #causeOfAsking(outcomes: readonly Outcome[], approved: boolean): string | undefined {
    const faults = outcomes.filter(({ result }) => result instanceof Fault);
    const isInexact = ({ result }: Outcome) => result instanceof Fault && result.inexact;
    const blocking = faults.filter(({ qualified }) => qualified.rule.verb !== "approve");
    if (blocking.some((outcome) => !isInexact(outcome))) return "error";
    if (blocking.length > 0) return "inexact";
    if (approved) return undefined;
    if (faults.some(isInexact)) return "inexact";
    return faults.length > 0 ? "error" : "no-match";
  }
}

const TOO_LONG_ERROR = { message: TIME_LIMIT_FAULT.message };

export function scopeOf(call: Call, meter: Meter): Scope {
  const { id, name, groups } = call.instance;
  const instance = new Map<CelKey, CelValue>([
    ["id", id],
    ["name", name],
    ["groups", groups],
  ]);
  return {
    tool: call.tool,
    args: fromJson(call.args),
    context: call.context === undefined ? EMPTY : fromJson(call.context),
    instance,
    now: new Timestamp(BigInt(Math.trunc(call.now)) * 1_000_000n),
    history: call.history,
    signals: lazySignals(call),
    meter,
    local: null,
  };
}

const EMPTY: CelMap = new Map();

/** Number of characters that an evaluation may have to read. */
export function sizeOf({ args, context, tool, server = "" }: Call): number {
  return args.source.length + (context?.source.length ?? 0) + tool.length + server.length;
}

function conditionResult({ when }: Rule, scope: Scope): RuleResult {
  if (when === undefined) return "fired";
  let answer: boolean | Fault;
  try {
    answer = when.evaluate(scope);
  } catch (error) {
    if (error instanceof StepsExceeded) throw error;
    return EVALUATION_FAULT;
  }
  if (answer instanceof Fault) return answer;
  return answer ? "fired" : "quiet";
}

const NOT_TYPEABLE = new Fault(
  `the text to type is not 1 to ${TYPED_CHARS_MAX} characters on one line`,
);

function typedText(text: CelValue | Fault): string | Fault {
  if (text instanceof Fault) return text;
  if (typeof text !== "string" || text.trim() === "" || text.length > TYPED_CHARS_MAX) {
    return NOT_TYPEABLE;
  }
  return /\p{Cc}/u.test(text) ? NOT_TYPEABLE : text;
}

/** Baseline rules first: the first of two texts to type is used. */
function requirementOf(asking: readonly Outcome[]): Requirement {
  const isFloor = ({ qualified }: Outcome): boolean => qualified.id.startsWith(FLOOR);
  const ordered = [...asking.filter(isFloor), ...asking.filter((each) => !isFloor(each))];
  return mergeRequirements(
    ordered.map(({ qualified, text }) =>
      requirementOfRule(qualified.rule.ask, typeof text === "string" ? text : undefined),
    ),
  );
}

function firstNote(outcomes: readonly Outcome[]): string | undefined {
  return outcomes.find(({ qualified }) => qualified.rule.note !== undefined)?.qualified.rule.note;
}

function shortestValidity(outcomes: readonly Outcome[]): number | undefined {
  const validities = outcomes
    .map(({ qualified }) => qualified.rule.validityMs)
    .filter((validityMs) => validityMs !== undefined);
  return validities.length === 0 ? undefined : Math.min(...validities);
}

function errorsOf(outcomes: readonly Outcome[]): readonly RuleError[] {
  const errors: RuleError[] = [];
  for (const { qualified, result, text } of outcomes) {
    for (const fault of [result, text]) {
      if (!(fault instanceof Fault) || errors.length >= ERRORS_MAX) continue;
      errors.push({ rule: qualified.id, message: truncateMessage(fault.message) });
    }
  }
  return errors;
}

export function truncateMessage(message: string): string {
  return message.length <= MESSAGE_CHARS_MAX ? message : message.slice(0, MESSAGE_CHARS_MAX);
}
