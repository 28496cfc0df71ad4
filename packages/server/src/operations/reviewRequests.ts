import { isOverdue, type JsonText, type StoredRequest } from "../core/request.ts";
import { mayVote } from "../core/scopes.ts";
import { deciderOf, refusalOf } from "../identity/assert-may.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { approvalBar, denialBar, needsPasskey, passkeyBar, takesVotes } from "../policy/decider.ts";
import { type Judgement, readJudgement, requirementOf } from "../policy/judgement.ts";
import type { Requirement } from "../policy/rule.ts";
import { readReviewers } from "../storage/sql/holders.ts";
import { readInstances } from "../storage/sql/instances.ts";
import { hasPasskey } from "../storage/sql/passkeys.ts";
import { readVotes, type StoredVote } from "../storage/sql/votes.ts";
import type { Reader } from "../storage/store.ts";

/** A request with what a reviewer needs to know beside it. */
export interface ReviewedRequest {
  readonly request: StoredRequest;
  /** A name is not proof of identity. */
  readonly instanceName: JsonText;
  readonly judgement: Judgement;
  readonly requirement: Requirement;
  /** Approvals so far, in the order in which they came. */
  readonly votes: readonly ReviewedVote[];
  readonly mayDecide: MayDecide;
  /** Name of the reviewer who decided; undefined where none did. */
  readonly decider: string | undefined;
}

export interface ReviewedVote {
  /** Name of the reviewer. */
  readonly reviewer: string;
  readonly note: JsonText | null;
  /** Epoch ms. */
  readonly at: number;
}

/** What the caller can do about it, as of now. */
export interface MayDecide {
  readonly approve: boolean;
  readonly deny: boolean;
  /** Why not to approve; undefined when that is possible. */
  readonly reason: string | undefined;
}

/**
 * Puts beside requests what a reviewer needs to know to decide them.
 *
 * @param requests of the caller's project
 * @param now epoch ms
 */
export async function reviewRequests(
  reader: Reader,
  caller: ReviewerCaller,
  requests: readonly StoredRequest[],
  now: number,
): Promise<ReviewedRequest[]> {
  const { projectId } = caller;
  const judged = requests.map((request) => {
    const judgement = readJudgement(request.policy);
    return { request, judgement, requirement: requirementOf(judgement) };
  });
  const isAsked = judged.some(({ requirement }) => needsPasskey(requirement));
  const signer = isAsked ? await toSigner(reader, caller) : NOBODY;
  const voted = judged.filter(({ requirement }) => takesVotes(requirement));
  const [instances, votes] = await Promise.all([
    readInstances(reader, projectId, [...new Set(requests.map((one) => one.instanceId))]),
    readVotes(
      reader,
      projectId,
      voted.map(({ request }) => request.id),
    ),
  ]);
  const deciders = requests.flatMap((request) => deciderId(request) ?? []);
  const people = [...new Set([...votes.map(({ reviewerId }) => reviewerId), ...deciders])];
  const names = new Map(
    (await readReviewers(reader, projectId, people)).map(({ id, name }) => [id, name]),
  );
  return judged.map(({ request, judgement, requirement }) => {
    const cast = votes.filter(({ requestId }) => requestId === request.id);
    const instance = instances.get(request.instanceId);
    const ownerId = instance?.ownerId ?? null;
    const seen = { request, requirement, votes: cast, ownerId, signer };
    return {
      request,
      judgement,
      requirement,
      instanceName: instance?.name ?? '""',
      votes: cast.map(({ reviewerId, note, votedAt: at }) => {
        return { reviewer: names.get(reviewerId) ?? "", note, at };
      }),
      mayDecide: mayDecide(caller, seen, now),
      decider: names.get(deciderId(request) ?? ""),
    };
  });
}

/** Undefined for what no reviewer decided. */
export function deciderId({ decision }: StoredRequest): string | undefined {
  return /^reviewer:(.+)$/.exec(decision?.decidedBy ?? "")?.[1];
}

interface Seen {
  readonly request: StoredRequest;
  readonly requirement: Requirement;
  readonly votes: readonly StoredVote[];
  readonly ownerId: string | null;
  readonly signer: Signer;
}

type Signer = Parameters<typeof passkeyBar>[0];

const NOBODY: Signer = { isPerson: false, hasPasskey: false };

/** Whether a caller can sign an approval. */
export async function toSigner(
  reader: Reader,
  { session, personId }: ReviewerCaller,
): Promise<Signer> {
  if (session === null || personId === null) return NOBODY;
  return { isPerson: true, hasPasskey: await hasPasskey(reader, personId) };
}

function mayDecide(
  caller: ReviewerCaller,
  { request, requirement, votes, ownerId, signer }: Seen,
  now: number,
): MayDecide {
  const refused = (reason: string) => ({ approve: false, deny: false, reason });
  // The same for everybody: nothing can be done about it.
  if (request.decision !== null) return refused(`The request is already ${request.status}.`);
  if (isOverdue(request, now)) return refused("The request is already expired.");
  if (!mayVote(caller)) return refused(refusalOf(caller, "decide"));
  const decider = deciderOf(caller);
  const deny = denialBar(requirement, decider, { ownerId }) === undefined;
  const { instanceId } = request;
  const bar =
    approvalBar(requirement, decider, { ownerId, instanceId }) ??
    (needsPasskey(requirement) ? passkeyBar(signer) : undefined);
  const hasVoted = votes.some(({ reviewerId }) => reviewerId === caller.reviewerId);
  const reason = bar ?? (hasVoted ? "You have approved this call; others must too." : undefined);
  return { approve: reason === undefined, deny, reason };
}
