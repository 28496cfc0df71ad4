/** Returns a version of a policy, and whether the next version requires two people. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type PolicyScope, projectOf } from "../../identity/policy-authority.ts";
import { type PublishedPolicy, readPublishers } from "../../steps/policy/readPublishers.ts";
import {
  type PolicyVersionOutline,
  readPolicyNumber,
  readPolicyVersion,
  readTwoPerson,
} from "../../storage/sql/policy/policy-versions.ts";

export type { PublishedPolicy };

export type PublishedOutline = PublishedPolicy<PolicyVersionOutline>;

/**
 * A version of the policy with its source.
 *
 * @param number undefined: the active one
 * @returns undefined when none is active
 * @throws Problem `not_found` when the version does not exist
 */
export async function showPolicy(
  { store }: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  number?: number,
): Promise<PublishedPolicy | undefined> {
  const projectId = projectOf(caller, scope);
  const wanted = number ?? (await readPolicyNumber(store, projectId));
  const version = await readPolicyVersion(store, projectId, wanted);
  if (version === undefined) {
    if (number === undefined) return undefined;
    throw new Problem("not_found", `This policy has no version ${number}. List its versions.`);
  }
  return { scope, version, names: await readPublishers(store, caller, [version]) };
}

/** True when another user than the author must publish the next version. */
export async function showTwoPerson(
  { store }: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
): Promise<boolean> {
  return readTwoPerson(store, projectOf(caller, scope));
}
