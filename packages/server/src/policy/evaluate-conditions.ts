/**
 * Evaluates conditions without a policy, such as those of grants, against one call.
 *
 * Guarantees: never throws; returns within the time limit of one evaluation for any number of
 * conditions.
 */

import type { Condition } from "./condition.ts";
import {
  EVALUATION_FAULT,
  faultOf,
  RULE_STEPS_MAX,
  scopeOf,
  sizeOf,
  TIME_LIMIT_FAULT,
  TIME_LIMIT_MS,
  truncateMessage,
  UNTIMED_STEPS,
} from "./evaluate.ts";
import { Fault } from "./fault.ts";
import type { Scope } from "./interpret.ts";
import { Meter, StepsExceeded } from "./meter.ts";
import type { Call } from "./rule.ts";
import { withinTime } from "./time-limit.ts";

export interface ConditionOutcome {
  /** True only when the condition returned true. */
  readonly holds: boolean;
  /** At most 300 characters, without any value of the call. */
  readonly error: string | undefined;
}

/** A condition, and the name that it reads as `tool`. */
export interface NamedCondition {
  readonly condition: Condition;
  readonly tool: string;
}

/**
 * Evaluates all conditions within the limits of one evaluation.
 *
 * @returns an outcome for each
 */
export function evaluateConditions(
  conditions: readonly NamedCondition[],
  call: Call,
): readonly ConditionOutcome[] {
  const outcomes: ConditionOutcome[] = [];
  const scope = scopeOf(call, new Meter(UNTIMED_STEPS));
  try {
    scope.meter.spend(sizeOf(call) / 8);
    for (const condition of conditions) outcomes.push(conditionOutcome(condition, scope));
  } catch (error) {
    if (!(error instanceof StepsExceeded)) outcomes.push(failed(EVALUATION_FAULT));
  }
  if (outcomes.length < conditions.length) {
    withinTime(TIME_LIMIT_MS, () => {
      for (const condition of conditions.slice(outcomes.length)) {
        scope.meter = new Meter(RULE_STEPS_MAX);
        try {
          outcomes.push(conditionOutcome(condition, scope));
        } catch (error) {
          outcomes.push(failed(faultOf(error)));
        }
      }
    });
  }
  return conditions.map((_, index) => outcomes[index] ?? failed(TIME_LIMIT_FAULT));
}

function conditionOutcome({ condition, tool }: NamedCondition, scope: Scope): ConditionOutcome {
  scope.tool = tool;
  const answer = condition.evaluate(scope);
  return answer instanceof Fault ? failed(answer) : { holds: answer, error: undefined };
}

function failed({ message }: Fault): ConditionOutcome {
  return { holds: false, error: truncateMessage(message) };
}
