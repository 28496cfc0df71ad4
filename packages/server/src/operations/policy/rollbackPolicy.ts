import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayPublish, projectOf } from "../../identity/policy-authority.ts";
import type { PublishOutcome } from "../../steps/policy/activatePolicy.ts";
import { assertIntact } from "../../steps/policy/assertIntact.ts";
import { readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import { type Publication, publishPolicy } from "./publishPolicy.ts";

export interface Rollback extends Omit<Publication, "source" | "restores"> {
  /** The version to restore. */
  readonly number: number;
}

/**
 * Publishes the source of an older version as a new one. It is examined again, because groups in it
 * may no longer exist.
 *
 * @throws Problem `not_found` when the version does not exist, `policy_invalid` when its stored
 * text was altered, and those of publishing
 */
export async function rollbackPolicy(
  context: Context,
  caller: ReviewerCaller,
  { number, scope, note, expectedNumber }: Rollback,
): Promise<PublishOutcome> {
  assertMayPublish(caller, scope);
  const version = await readPolicyVersion(context.store, projectOf(caller, scope), number);
  if (version === undefined) {
    throw new Problem("not_found", `This policy has no version ${number}. List its versions.`);
  }
  assertIntact(version);
  return publishPolicy(context, caller, {
    scope,
    source: version.source,
    expectedNumber,
    note: note ?? `Rollback to version ${number}.`,
    restores: number,
  });
}
