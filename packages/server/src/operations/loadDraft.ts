import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../identity/caller.ts";
import { loadPolicy, PolicyError } from "../policy/load.ts";
import type { KnownGroups, Policy } from "../policy/rule.ts";
import { readPolicyNumber, readPolicyVersion, SERVER } from "../storage/sql/policy-versions.ts";
import type { Reader } from "../storage/store.ts";
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
  reader: Reader,
  caller: ReviewerCaller,
  scope: PolicyScope,
  source: string,
): Promise<BothPolicies> {
  const groups = await readKnownGroups(reader, projectOf(caller, scope));
  const draft = load(source, scope, groups);
  const floorNumber = await readPolicyNumber(reader, SERVER);
  const projectNumber = await readPolicyNumber(reader, caller.projectId);
  const beside: PolicyScope = scope === "floor" ? "project" : "floor";
  const number = beside === "floor" ? floorNumber : projectNumber;
  const inForce = await loadVersion(reader, projectOf(caller, beside), beside, number);
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

/** The groups that a version names may be gone by now; it is in force all the same. */
async function loadVersion(
  reader: Reader,
  projectId: string,
  kind: PolicyScope,
  number: number,
): Promise<Policy | undefined> {
  const version = await readPolicyVersion(reader, projectId, number);
  if (version === undefined) return undefined;
  try {
    return loadPolicy(version.source, { kind });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const whose = kind === "floor" ? "the floor" : "the policy";
    const message = `Version ${number} of ${whose}, which is in force, cannot be read any more.`;
    throw new Problem("policy_invalid", message, { findings: error.findings });
  }
}
