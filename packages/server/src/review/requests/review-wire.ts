/**
 * What reviewers read: the contract's resource, letter for letter, with what agents said beyond the
 * contract, whether that is admitted by now or not, and what a decision needs beside it.
 */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import { sha256Hex } from "../../core/digest.ts";
import { approvalRequestMembers } from "../../http/wire.ts";
import type { Page } from "../../operations/requests/listRequests.ts";
import type { ReviewedRequest } from "../../operations/requests/reviewRequests.ts";
import { needsPasskey } from "../../policy/decider.ts";
import { writeCursor } from "../shared/listing-parameters.ts";

/** @param publicUrl where people reach this server */
export function writeReviewedRequest(reviewed: ReviewedRequest, publicUrl: string): string {
  const { request, instanceName, votes, held, mayDecide, decider, consumption } = reviewed;
  const instance = `{"id":"${request.instanceId}","name":${instanceName}}`;
  const { decision } = request;
  return (
    `{${approvalRequestMembers(request, { server: true, consumption })}` +
    `,"instance":${instance}` +
    `,"arguments_sha256":"${sha256Hex(request.arguments)}"` +
    (decision === null ? "" : `,"decided_by":${JSON.stringify(decision.decidedBy)}`) +
    (decider === undefined ? "" : `,"decider":${JSON.stringify(decider)}`) +
    `,"policy":${JSON.stringify(toWirePolicy(reviewed))}` +
    `,"requirement":${JSON.stringify(toWireRequirement(reviewed, publicUrl))}` +
    `,"votes":[${votes.map(writeVote).join(",")}]` +
    (held === undefined ? "" : `,"held":${writeHeld(held)}`) +
    `,"may_decide":${JSON.stringify(mayDecide)}` +
    "}"
  );
}

/**
 * One request by itself.
 *
 * @param now as with {@link writePage}
 */
export function writeShownRequest(
  reviewed: ReviewedRequest,
  now: string,
  publicUrl: string,
): string {
  return `${writeReviewedRequest(reviewed, publicUrl).slice(0, -1)},"now":"${now}"}`;
}

/** How policy judged the call. */
function toWirePolicy({ judgement }: ReviewedRequest): object {
  const { verb, because, fired, errors, project, floor, note } = judgement;
  return {
    verdict: verb,
    because,
    fired,
    errors,
    versions: { project, floor },
    ...(note !== undefined && { note }),
  };
}

/** What deciding takes, in the words of a policy file. */
function toWireRequirement(
  { request, requirement, judgement }: ReviewedRequest,
  publicUrl: string,
): object {
  const { from, quorum, quorums, excludeOwner, confirm, noteRequired, grants, bots } = requirement;
  const { validityMs } = judgement;
  // For those who cannot sign where they are, as with a token.
  const signing = needsPasskey(requirement) && { sign_at: `${publicUrl}/inbox/${request.id}` };
  return {
    from,
    quorum,
    ...(quorums !== undefined && { quorums }),
    exclude: excludeOwner ? ["owner"] : [],
    confirm: { ...confirm, ...signing },
    note: noteRequired ? "required" : "optional",
    grants,
    bots,
    ...(validityMs !== undefined && { valid_for_max: formatDuration(validityMs) }),
  };
}

function writeVote({ reviewer, note, at }: ReviewedRequest["votes"][number]): string {
  const rest = note === null ? "" : `,"note":${note}`;
  return `{"reviewer":${JSON.stringify(reviewer)},"at":"${formatTimestamp(at)}"${rest}}`;
}

function writeHeld(held: NonNullable<ReviewedRequest["held"]>): string {
  const [heldAt, commitsAt] = [held.heldAt, held.commitsAt].map(formatTimestamp);
  const rest = held.note === null ? "" : `,"note":${held.note}`;
  return `{"verdict":"${held.verdict}","held_at":"${heldAt}","commits_at":"${commitsAt}"${rest}}`;
}

/**
 * @param now the server's time: a countdown must not depend on the reader's clock
 */
export function writePage(
  { requests, damaged, next }: Page,
  now: string,
  publicUrl: string,
): string {
  const items = requests.map((one) => writeReviewedRequest(one, publicUrl)).join(",");
  const missing = damaged.length === 0 ? "" : `,"damaged":${JSON.stringify(damaged)}`;
  return `{"requests":[${items}]${missing},"next":${writeCursor(next)},"now":"${now}"}`;
}
