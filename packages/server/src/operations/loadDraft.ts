import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { loadPolicy, PolicyError } from "../policy/load.ts";
import type { KnownGroups, Policy } from "../policy/rule.ts";
import { readPolicyNumber, readPolicyVersion, SERVER } from "../storage/sql/policy-versions.ts";
import { type PolicyScope, projectOf } from "./assertMayPublish.ts";
import { invalidPolicy } from "./publishPolicy.ts";
import { readKnownGroups } from "./readKnownGroups.ts";

/** What judges a call together. */
export interface BothPolicies {
  readonly floor?: Policy;
  readonly project?: Policy;
  /** Of the versions in force, one of which the draft stands in for; 0 where there is none. */
  readonly floorNumber: number;
  readonly projectNumber: number;
}

/**
 * A draft and what would be in force beside it.
 *
 * @throws Problem `policy_invalid` when either of them does not load
 */
export async function loadDraft(
  context: Pick<Context, "store" | "policies">,
  caller: ReviewerCaller,
  scope: PolicyScope,
  source: string,
): Promise<BothPolicies> {
  const { store } = context;
  const groups = await readKnownGroups(store, projectOf(caller, scope));
  const draft = load(source, scope, groups);
  const floorNumber = await readPolicyNumber(store, SERVER);
  const projectNumber = await readPolicyNumber(store, caller.projectId);
  const beside: PolicyScope = scope === "floor" ? "project" : "floor";
  const number = beside === "floor" ? floorNumber : projectNumber;
  const inForce = await findPolicyInForce(context, projectOf(caller, beside), beside, number);
  return {
    [scope]: draft,
    ...(inForce !== undefined && { [beside]: inForce }),
    floorNumber,
    projectNumber,
  };
}

function load(source: string, kind: PolicyScope, groups: KnownGroups): Policy {
  try {
    return loadPolicy(source, { kind, groups });
  } catch (error) {
    throw error instanceof PolicyError ? invalidPolicy(error.findings) : error;
  }
}

async function findPolicyInForce(
  { store, policies }: Pick<Context, "store" | "policies">,
  projectId: string,
  kind: PolicyScope,
  number: number,
): Promise<Policy | undefined> {
  if (number === 0) return undefined;
  const version = await readPolicyVersion(store, projectId, number);
  if (version === undefined) return undefined;
  const shelved = policies.find(kind, version.sha256) ?? policies.put(kind, version);
  if (shelved.kind === "policy") return shelved.policy;
  const whose = kind === "floor" ? "the floor" : "the policy";
  const message = `Version ${number} of ${whose}, which is in force, cannot be read any more.`;
  throw new Problem("policy_invalid", message, { findings: [] });
}
