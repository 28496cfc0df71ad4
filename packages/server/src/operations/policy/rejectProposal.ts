import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayPublish,
  type PolicyScope,
  policyActorOf,
  projectOf,
} from "../../identity/policy-authority.ts";
import { type ReviewedProposal, reviewProposal } from "../../steps/policy/reviewProposals.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { closeProposal, readProposal } from "../../storage/sql/policy/policy-proposals.ts";

export interface Rejection {
  readonly scope: PolicyScope;
  readonly id: string;
  /** The reason; stored with the proposal. */
  readonly note: string | null;
}

/**
 * Closes a proposal so that it cannot be published. Its author may withdraw it this way. A proposal
 * that is already rejected is returned unchanged.
 *
 * @throws Problem `not_found`; `forbidden`; `policy_conflict` when it was published
 */
export async function rejectProposal(
  { store, random }: Context,
  caller: ReviewerCaller,
  { scope, id, note }: Rejection,
): Promise<ReviewedProposal> {
  assertMayPublish(caller, scope);
  const { actor } = policyActorOf(caller);
  const key = { projectId: projectOf(caller, scope), id };
  const rejected = await store.transact(async (tx) => {
    const now = await tx.now();
    const end = { outcome: "rejected", closedAt: now, closedBy: actor, reason: note } as const;
    if (await closeProposal(tx, key, end)) {
      const { sha256 } = (await readProposal(tx, key)) ?? {};
      await appendAudit(tx, random, {
        at: now,
        projectId: key.projectId,
        kind: "policy.rejected",
        actor,
        subject: `proposal:${id}`,
        detail: {
          sha256: sha256 ?? null,
          note,
          project_id: key.projectId === SERVER ? caller.projectId : undefined,
        },
      });
    }
    return readProposal(tx, key);
  });
  if (rejected === undefined) throw new Problem("not_found");
  if (rejected.end?.outcome === "published") {
    throw new Problem(
      "policy_conflict",
      "This proposal is already published and cannot be rejected.",
    );
  }
  return reviewProposal(store, caller, scope, rejected);
}
