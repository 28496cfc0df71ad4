/**
 * Policy: rules that answer the harmless at once and bring the rest to people.
 *
 * Pure: no clock, no store. A policy is read with `loadPolicy`, asked with `evaluatePolicies`,
 * and what it asks for is judged with `permits` and `isMet`.
 */

export {
  type Condition,
  ConditionError,
  type ConditionFault,
  compileCondition,
} from "./condition.ts";
export {
  type ConditionOutcome,
  evaluateCondition,
  evaluatePolicies,
  type Policies,
} from "./evaluate.ts";
export { fitsGlob, type Glob, readGlob } from "./glob.ts";
export { loadPolicy, PolicyError } from "./load.ts";
export { Meter, StepsExceeded } from "./meter.ts";
export { runPolicyTests, type TestOutcome } from "./policy-tests.ts";
export {
  type Approver,
  isMet,
  mergeRequirements,
  permits,
  type Refusal,
  refusal,
} from "./requirement.ts";
export * from "./rule.ts";
