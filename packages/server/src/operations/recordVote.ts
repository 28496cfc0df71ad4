import { Problem } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import { allows } from "../core/roles.ts";
import { approvalBar, isEnough } from "../policy/decider.ts";
import type { Requirement } from "../policy/rule.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import { readLiveHolders } from "../storage/sql/credentials.ts";
import { readReviewers } from "../storage/sql/holders.ts";
import { readVotes, type StoredVote, writeVote } from "../storage/sql/votes.ts";
import type { Transaction } from "../storage/store.ts";

export interface Tally {
  /** Votes of those who may approve now, in the order in which they were cast. */
  readonly counted: readonly StoredVote[];
  readonly isEnough: boolean;
}

/**
 * Keeps an approval that may not be enough by itself, and counts: a vote of somebody who has lost
 * their token, their role or what the rule named them by does not count any more, and counts
 * again when they have it back. The same vote again writes nothing; another note or validity
 * takes the place of the earlier one.
 *
 * @param request locked by this transaction, and pending
 * @param vote of a reviewer who was found to be allowed
 * @throws Problem `invalid_credential` when the voter's token has ended meanwhile
 */
export async function recordVote(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  { requirement, ownerId }: { readonly requirement: Requirement; readonly ownerId: string | null },
  vote: StoredVote,
): Promise<Tally> {
  const { projectId, id, instanceId } = request;
  const before = await readVotes(tx, projectId, [id]);
  const others = before.filter(({ reviewerId }) => reviewerId !== vote.reviewerId);
  const earlier = before.find(({ reviewerId }) => reviewerId === vote.reviewerId);
  const isRepeated = earlier?.note === vote.note && earlier.validityMs === vote.validityMs;
  const votes = isRepeated ? before : [...others, vote];
  const ids = votes.map(({ reviewerId }) => reviewerId);
  const live = await readLiveHolders(tx, ids, vote.votedAt);
  if (!live.has(vote.reviewerId)) throw new Problem("invalid_credential");
  const allowed = (await readReviewers(tx, projectId, ids)).filter(
    (reviewer) =>
      live.has(reviewer.id) &&
      reviewer.removedAt === null &&
      allows(reviewer.role, "decide") &&
      approvalBar(requirement, reviewer, { ownerId, instanceId }) === undefined,
  );
  if (!isRepeated) {
    await writeVote(tx, vote);
    await appendAudit(tx, random, {
      at: vote.votedAt,
      projectId,
      kind: "vote.cast",
      actor: `reviewer:${vote.reviewerId}`,
      subject: `request:${id}`,
      detail: {
        arguments_sha256: sha256Hex(request.arguments),
        validity_ms: vote.validityMs,
        note_sha256: vote.note === null ? null : sha256Hex(vote.note),
      },
    });
  }
  const counted = votes.filter(({ reviewerId }) => allowed.some(({ id }) => id === reviewerId));
  return { counted, isEnough: isEnough(requirement, allowed) };
}
