import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import {
  type PolicyVersionOutline,
  readPolicyNumber,
  readPolicyVersion,
  type StoredPolicyVersion,
} from "../storage/sql/policy-versions.ts";
import { type PolicyScope, projectOf } from "./assertMayPublish.ts";
import { readPublishers } from "./readPublishers.ts";

export interface PublishedPolicy<V = StoredPolicyVersion> {
  readonly scope: PolicyScope;
  readonly version: V;
  /** The name of who published it; undefined when that is nobody of the caller's project. */
  readonly publisher: string | undefined;
}

export type PublishedOutline = PublishedPolicy<PolicyVersionOutline>;

/**
 * A version of the policy with its source.
 *
 * @param number undefined: the one in force
 * @returns undefined when none is in force
 * @throws Problem `not_found` when there is no version of this number
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
    throw new Problem("not_found", `There is no version ${number} of this policy.`);
  }
  const names = await readPublishers(store, caller, [version]);
  return { scope, version, publisher: names.get(version.publishedBy) };
}
