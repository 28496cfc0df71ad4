/** Publishes a proposal, as another user or as the operator. */

import { formatTimestamp, Problem, quoted } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { unknownProject } from "../../core/not-found.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayPublish,
  type PolicyScope,
  policyActorOf,
  projectOf,
} from "../../identity/policy-authority.ts";
import {
  activatePolicy,
  type PolicyDraft,
  type PublishOutcome,
} from "../../steps/policy/activatePolicy.ts";
import { assertIntact } from "../../steps/policy/assertIntact.ts";
import { assertOtherPerson } from "../../steps/policy/assertOtherPerson.ts";
import { readProjects } from "../../storage/sql/access/holders.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { readProposal, type StoredProposal } from "../../storage/sql/policy/policy-proposals.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * Publishes the exact source of a proposal. With the two-person rule, the caller must be another
 * user than the author.
 *
 * @throws Problem `not_found`; `forbidden`, also for the author; `policy_conflict` when it was
 * closed, or another version has become active; `policy_invalid` when names in it no longer exist
 */
export async function publishProposal(
  context: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  id: string,
): Promise<PublishOutcome> {
  assertMayPublish(caller, scope);
  const key = { projectId: projectOf(caller, scope), id };
  const proposal = await readProposal(context.store, key);
  if (proposal === undefined) throw new Problem("not_found");
  const admit = (reader: Reader) => assertOtherPerson(reader, caller, proposal);
  return activatePolicy(context, policyActorOf(caller), toDraft(scope, proposal), admit);
}

export interface Release {
  readonly scope: PolicyScope;
  /** Name of the project of the policy; ignored for the baseline policy. */
  readonly project: string;
  readonly proposalId: string;
}

/**
 * As {@link publishProposal} without a second user, for operators on the server when no other user
 * can publish.
 *
 * @throws Problem as {@link publishProposal}; `not_found` also when the project does not exist
 */
export async function releaseProposal(
  context: Context,
  { scope, project, proposalId }: Release,
): Promise<PublishOutcome> {
  const { store } = context;
  const [found] = scope === "floor" ? [] : await readProjects(store, project);
  if (scope === "project" && found === undefined) {
    throw unknownProject(project);
  }
  const projectId = found?.id ?? SERVER;
  const proposal = await readProposal(store, { projectId, id: proposalId });
  if (proposal === undefined)
    throw new Problem(
      "not_found",
      `No proposal has the id ${quoted(proposalId)}. List the open proposals.`,
    );
  const by = { actor: "operator:cli", projectId } as const;
  return activatePolicy(context, by, toDraft(scope, proposal), async () => {});
}

/** @throws Problem `policy_conflict` when it was rejected, `policy_invalid` when it was altered */
function toDraft(scope: PolicyScope, proposal: StoredProposal): PolicyDraft {
  const { projectId, source, baseNumber, note, restores, end } = proposal;
  assertIntact(proposal);
  if (end?.outcome === "rejected") {
    const message = `This proposal was rejected at ${formatTimestamp(end.closedAt)}.`;
    throw new Problem("policy_conflict", message);
  }
  return {
    scope,
    projectId,
    source,
    note,
    proposal,
    expectedNumber: baseNumber,
    restores: restores ?? undefined,
  };
}
