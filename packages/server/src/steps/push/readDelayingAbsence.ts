import { type Absence, absencesAt, delayingAbsence } from "../../core/absence.ts";
import type { StoredRequest } from "../../core/request.ts";
import { approvalRefusal, isEnough, needsPasskey } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { type PushAudience, readNotified } from "../../storage/sql/push/push-messages.ts";
import { hasPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";
import { readAbsences } from "../access/readAbsences.ts";
import { canDecide } from "./canDecide.ts";

/**
 * The absence that delays the message of a reviewer about a request; undefined: the server sends
 * it now. A message is delayed only while the present reviewers who get one can approve the request
 * together.
 */
export async function readDelayingAbsence(
  tx: Transaction,
  request: StoredRequest,
  { reviewerId }: Pick<PushAudience, "reviewerId">,
  ownerId: string | null,
  now: number,
): Promise<Absence | undefined> {
  const { projectId, instanceId } = request;
  const current = absencesAt(await readAbsences(tx, projectId, now), now);
  if (!current.has(reviewerId)) return undefined;
  const present = (await readNotified(tx, request)).filter(
    (one) => !current.has(one.reviewerId) && canDecide(request, one, ownerId),
  );
  const ids = new Set(present.map((one) => one.reviewerId));
  const absence = delayingAbsence(reviewerId, current, ids);
  if (absence === undefined) return undefined;
  const requirement = requirementOf(readJudgement(request.policy));
  const approvers = [];
  for (const { reviewerId: id, personId, name, groups } of present) {
    const decider = { id, name, groups, isBot: false, forGroups: null };
    if (approvalRefusal(requirement, decider, { ownerId, instanceId }) !== undefined) continue;
    if (needsPasskey(requirement) && !(await hasPasskey(tx, personId))) continue;
    approvers.push(decider);
  }
  const { substituteId } = absence;
  const isCovered = substituteId === null || approvers.some(({ id }) => id === substituteId);
  return isCovered && isEnough(requirement, approvers) ? absence : undefined;
}
