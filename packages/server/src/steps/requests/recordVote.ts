import { Problem } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import { type PasskeyProof, verifyProof } from "../../audit/passkey-proof.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import { allows } from "../../core/roles.ts";
import { intersectGroups, votingGroupsOfTokens } from "../../core/scopes.ts";
import { approvalRefusal, isEnough, needsPasskey } from "../../policy/decider.ts";
import type { Requirement } from "../../policy/rule.ts";
import { readVotes, type StoredVote, writeVote } from "../../storage/sql/requests/votes.ts";
import { readPasskeys } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";
import { type ActiveReviewer, lockActiveReviewers } from "../access/readActiveReviewers.ts";

export interface VoteCount {
  /** Votes of reviewers who may approve now, in the order of the votes. */
  readonly counted: readonly StoredVote[];
  readonly isEnough: boolean;
}

/**
 * Stores an approval that may not be sufficient, and counts the votes. A vote does not count while
 * its reviewer has no valid token, lacks the role or is not named by the rule; it counts again
 * afterwards. Repeating a vote writes nothing; another note or validity replaces it.
 *
 * @param request locked by this transaction, and pending
 * @param vote of a reviewer who passed the checks
 * @param useSignature uses the signature of a new vote; a repeated vote has used it already
 * @param detail additional fields of the audit entry
 * @throws Problem `invalid_credential` when the voter's token is no longer valid, and problems of
 * `useSignature`
 */
export async function recordVote(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  { requirement, ownerId }: { readonly requirement: Requirement; readonly ownerId: string | null },
  vote: StoredVote,
  useSignature: () => Promise<unknown> | undefined,
  detail: AuditEntry["detail"] = {},
): Promise<VoteCount> {
  const { projectId, id, instanceId } = request;
  const before = await readVotes(tx, projectId, [id]);
  const others = before.filter(({ reviewerId }) => reviewerId !== vote.reviewerId);
  const earlier = before.find(({ reviewerId }) => reviewerId === vote.reviewerId);
  const isRepeated = earlier !== undefined && isSame(earlier, vote);
  const votes = isRepeated ? before : [...others, vote];
  const ids = votes.map(({ reviewerId }) => reviewerId);
  const active = await lockActiveReviewers(tx, projectId, ids, vote.votedAt);
  if (!active.some(({ id }) => id === vote.reviewerId)) throw new Problem("invalid_credential");
  const isSigned = await findSigned(tx, request, requirement, votes);
  const allowed = active
    .filter(isSigned)
    .map((reviewer) => ({ ...reviewer, forGroups: reachOf(reviewer, votes) }))
    .filter(
      (reviewer) =>
        allows(reviewer.role, "decide") &&
        approvalRefusal(requirement, reviewer, { ownerId, instanceId }) === undefined,
    );
  if (!isRepeated) {
    await useSignature();
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
        for_groups: vote.forGroups ?? undefined,
        passkey: vote.proof === null ? undefined : readProof(vote.proof),
        ...detail,
      },
    });
  }
  const counted = votes.filter(({ reviewerId }) => allowed.some(({ id }) => id === reviewerId));
  return { counted, isEnough: isEnough(requirement, allowed) };
}

/** Limited by the token of the vote and by the voter's current tokens. */
function reachOf(
  { id, ways }: ActiveReviewer,
  votes: readonly StoredVote[],
): readonly string[] | null {
  const cast = votes.find(({ reviewerId }) => reviewerId === id);
  return intersectGroups(votingGroupsOfTokens(ways), cast === undefined ? [] : cast.forGroups);
}

function isSame(one: StoredVote, other: StoredVote): boolean {
  return (
    one.note === other.note &&
    one.validityMs === other.validityMs &&
    one.proof === other.proof &&
    JSON.stringify(one.forGroups) === JSON.stringify(other.forGroups)
  );
}

/**
 * When a passkey is required, a vote counts only while its passkey belongs to the voter: removing a
 * lost passkey invalidates its votes. Each stored signature is verified again, because write access
 * to the database is sufficient to insert a vote.
 */
async function findSigned(
  tx: Transaction,
  request: StoredRequest,
  requirement: Requirement,
  votes: readonly StoredVote[],
): Promise<(reviewer: Pick<ActiveReviewer, "id" | "personId">) => boolean> {
  if (!needsPasskey(requirement)) return () => true;
  const proofs = new Map(
    votes.flatMap((vote) => {
      const proof = verifiedProof(request, vote);
      return proof === undefined ? [] : [[vote.reviewerId, proof]];
    }),
  );
  const ids = [...proofs.values()].map(({ credential_id: id }) => id);
  const passkeys = await readPasskeys(tx, ids);
  return ({ id, personId }) => {
    const proof = proofs.get(id);
    const passkey = passkeys.get(proof?.credential_id ?? "");
    if (personId === null || passkey?.personId !== personId) return false;
    return passkey.publicKey === proof?.public_key;
  };
}

/** @returns undefined unless a passkey signed exactly this vote */
function verifiedProof(request: StoredRequest, vote: StoredVote): PasskeyProof | undefined {
  if (vote.proof === null) return undefined;
  const proof = readProof(vote.proof);
  const detail = {
    passkey: proof,
    arguments_sha256: sha256Hex(request.arguments),
    note_sha256: vote.note === null ? null : sha256Hex(vote.note),
    validity_ms: vote.validityMs,
  };
  return verifyProof(detail, request.id).kind === "proven" ? proof : undefined;
}

function readProof(proof: JsonText): PasskeyProof {
  return JSON.parse(proof) as PasskeyProof;
}
