import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayPublish,
  type PolicyScope,
  policyActorOf,
  projectOf,
} from "../../identity/policy-authority.ts";
import { assertExpected, examineDraft, readCurrent } from "../../steps/policy/activatePolicy.ts";
import { assertIntact } from "../../steps/policy/assertIntact.ts";
import { assertMayPropose } from "../../steps/policy/assertOtherPerson.ts";
import { type ReviewedProposal, reviewProposal } from "../../steps/policy/reviewProposals.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import {
  insertProposal,
  readOpenProposal,
  type StoredProposal,
} from "../../storage/sql/policy/policy-proposals.ts";
import { readPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";
import type { Transaction } from "../../storage/store.ts";

export interface ProposalOrder {
  readonly scope: PolicyScope;
  /** A policy, or the number of an older version to restore. */
  readonly content: { readonly source: string } | { readonly restores: number };
  /** The active version when the author started; 0: none. */
  readonly expectedNumber: number;
  /** The reason; stored with the version. */
  readonly note: string | null;
}

export interface Proposed extends ReviewedProposal {
  /** False when the caller has an open proposal with the same source. */
  readonly isNew: boolean;
}

/**
 * Stores a valid policy for another user to publish. The proposal cannot be changed, only published
 * or rejected.
 *
 * @throws Problem `forbidden`; `not_found` when the version does not exist; `invalid_request` when
 * this policy is already active; `policy_invalid` and `policy_conflict` as when publishing
 */
export async function proposePolicy(
  context: Context,
  caller: ReviewerCaller,
  order: ProposalOrder,
): Promise<Proposed> {
  const { store } = context;
  const { scope, expectedNumber } = order;
  assertMayPublish(caller, scope);
  const by = policyActorOf(caller);
  const projectId = projectOf(caller, scope);
  await assertMayPropose(store, caller, projectId);
  const source = await sourceOf(context, projectId, order);
  const current = await readCurrent(store, projectId);
  if (current?.isIntact && current.source === source) {
    const message = `This policy is already active, as version ${current.number}.`;
    throw new Problem("invalid_request", message, { param: "source" });
  }
  await assertExpected(store, by, current, order);
  const { tests } = await examineDraft(context, { scope, source, projectId });
  const draft = { projectId, baseNumber: expectedNumber, sha256: sha256Hex(source), source };
  const { proposal, isNew } = await store.transact(async (tx) => {
    // Checked again, because the examination may have taken long.
    await assertExpected(tx, by, await readCurrent(tx, projectId), order);
    // A client that lost the answer and retries receives the same proposal.
    const known = await readOpenProposal(tx, { ...draft, proposedBy: by.actor });
    if (known?.isIntact) return { proposal: known, isNew: false };
    const now = await tx.now();
    const made: StoredProposal = {
      ...draft,
      id: uuidV7(now, context.random.bytes(10)),
      note: noteOf(order),
      restores: "restores" in order.content ? order.content.restores : null,
      tests: tests.length,
      proposedAt: now,
      proposedBy: by.actor,
      proposerProjectId: by.projectId,
      end: null,
      isIntact: true,
    };
    await insertProposal(tx, made);
    await record(tx, context, made);
    return { proposal: made, isNew: true };
  });
  return { ...(await reviewProposal(store, caller, scope, proposal)), isNew };
}

async function sourceOf(
  { store }: Context,
  projectId: string,
  { content }: ProposalOrder,
): Promise<string> {
  if ("source" in content) return content.source;
  const version = await readPolicyVersion(store, projectId, content.restores);
  if (version === undefined) {
    throw new Problem(
      "not_found",
      `This policy has no version ${content.restores}. List its versions.`,
    );
  }
  assertIntact(version);
  return version.source;
}

function noteOf({ note, content }: ProposalOrder): string | null {
  if (note !== null || "source" in content) return note;
  return `Rollback to version ${content.restores}.`;
}

async function record(
  tx: Transaction,
  { random }: Context,
  { id, projectId, proposedAt, proposedBy, proposerProjectId, ...proposal }: StoredProposal,
): Promise<void> {
  const { baseNumber, sha256, note, restores, tests } = proposal;
  await appendAudit(tx, random, {
    at: proposedAt,
    projectId,
    kind: "policy.proposed",
    actor: proposedBy,
    subject: `proposal:${id}`,
    detail: {
      base_number: baseNumber,
      sha256,
      note,
      tests,
      restores: restores ?? undefined,
      project_id: projectId === SERVER ? proposerProjectId : undefined,
    },
  });
}
