import type { Context } from "../../context.ts";
import type { Examination } from "../../examiner/examiner.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayCheck, type PolicyScope, projectOf } from "../../identity/policy-authority.ts";
import { readKnownGroups } from "../../steps/policy/readKnownGroups.ts";

export type PolicyCheck = Pick<
  Examination,
  "findings" | "tests" | "warnings" | "rules" | "outlines"
>;

/**
 * The result that publishing a draft would have. Writes nothing.
 *
 * @throws Problem `forbidden`, as {@link assertMayCheck}
 */
export async function checkPolicy(
  context: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  source: string,
): Promise<PolicyCheck> {
  assertMayCheck(caller, scope);
  const groups = await readKnownGroups(context.store, projectOf(caller, scope));
  const { retentionMs: keptMs, windowMsMax: timeoutMsMax } = context.settings;
  const limits = { groups, keptMs, timeoutMsMax };
  const order = { kind: scope, source, ...limits, runsTests: true, wantsPolicy: false };
  return context.examiners.drafts.examine(order);
}
