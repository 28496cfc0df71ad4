import type { Context } from "../context.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import type { Finding } from "../policy/rule.ts";
import { assertMayPublish, type PolicyScope, projectOf } from "./assertMayPublish.ts";
import { type Examined, examinePolicy } from "./examinePolicy.ts";
import { readKnownGroups } from "./readKnownGroups.ts";

export interface PolicyCheck extends Pick<Examined, "findings" | "tests"> {
  /** What is allowed and yet probably not meant. */
  readonly warnings: readonly Finding[];
  /** How many; 0 when it does not load. */
  readonly rules: number;
}

/**
 * Says what publishing a draft would say, and writes nothing.
 *
 * @throws Problem `forbidden` for those who could not publish it
 */
export async function checkPolicy(
  context: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  source: string,
): Promise<PolicyCheck> {
  assertMayPublish(caller, scope);
  const groups = await readKnownGroups(context.store, projectOf(caller, scope));
  const { policy, findings, tests } = await examinePolicy(scope, source, groups, context.clock);
  return { findings, tests, warnings: policy?.warnings ?? [], rules: policy?.rules.length ?? 0 };
}
