import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type PolicyScope, projectOf } from "../../identity/policy-authority.ts";
import type { Policy } from "../../policy/rule.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { readPolicyNumber, readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import { invalidPolicy } from "./activatePolicy.ts";
import { cachePolicy } from "./cachePolicy.ts";
import { readKnownGroups } from "./readKnownGroups.ts";

/** The policies that judge a call together. */
export interface PolicyPair {
  readonly floor?: Policy;
  readonly project?: Policy;
  /** Numbers of the active versions, one of which the draft replaces; 0: none. */
  readonly floorNumber: number;
  readonly projectNumber: number;
}

/**
 * A draft with the other active policy.
 *
 * @throws Problem `policy_invalid` when either of them does not load
 */
export async function loadDraft(
  context: Pick<Context, "store" | "policies" | "examiners" | "settings">,
  caller: ReviewerCaller,
  scope: PolicyScope,
  source: string,
): Promise<PolicyPair> {
  const { store, examiners } = context;
  const { retentionMs: keptMs, windowMsMax: timeoutMsMax } = context.settings;
  const groups = await readKnownGroups(store, projectOf(caller, scope));
  const limits = { groups, keptMs, timeoutMsMax };
  const order = { kind: scope, source, ...limits, runsTests: false, wantsPolicy: true };
  const { policy: draft, findings } = await examiners.drafts.examine(order);
  if (draft === undefined) throw invalidPolicy(findings);
  const floorNumber = await readPolicyNumber(store, SERVER);
  const projectNumber = await readPolicyNumber(store, caller.projectId);
  const beside: PolicyScope = scope === "floor" ? "project" : "floor";
  const number = beside === "floor" ? floorNumber : projectNumber;
  const active = await findActivePolicy(context, projectOf(caller, beside), beside, number);
  return {
    [scope]: draft,
    ...(active !== undefined && { [beside]: active }),
    floorNumber,
    projectNumber,
  };
}

async function findActivePolicy(
  context: Pick<Context, "store" | "policies" | "examiners">,
  projectId: string,
  kind: PolicyScope,
  number: number,
): Promise<Policy | undefined> {
  if (number === 0) return undefined;
  const version = await readPolicyVersion(context.store, projectId, number);
  if (version === undefined) return undefined;
  const cached = await cachePolicy(context, { kind, projectId, ref: version });
  if (cached.kind === "policy") return cached.policy;
  const whose = kind === "floor" ? "the floor" : "the policy";
  const message = `Version ${number} of ${whose} is active, and this server cannot read it.`;
  throw new Problem("policy_invalid", message, { findings: [] });
}
