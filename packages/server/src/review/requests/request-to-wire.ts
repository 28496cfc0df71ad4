/**
 * Converts requests to the reviewer API's form: the contract's resource with the stored text, and
 * the requirement of a decision.
 */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import {
  JsonText,
  type Background as WireBackground,
  type ReviewedRequest as WireRequest,
  type Writable,
} from "@countersign/review-api";
import type { Signal } from "@countersign/review-api/calls";
import { requestPageOf } from "../../config/public-url.ts";
import { sha256Hex } from "../../core/digest.ts";
import { textOf, toWireRequest } from "../../http/wire.ts";
import type { Background } from "../../operations/requests/showBackground.ts";
import type { ReviewedRequest } from "../../operations/requests/showRequest.ts";
import { needsPasskey } from "../../policy/decider.ts";
import { type ScheduledEscalation, scheduleEscalations } from "../../policy/judgement.ts";
import { toWireAbsence } from "../shared/absence-to-wire.ts";
import type { CallFacts } from "./call-facts.ts";

type Wire = Writable<WireRequest>;

/**
 * @param publicUrl base URL of this server
 * @param caller id of the reviewer who reads it
 * @param now epoch ms
 * @param facts of the call of the request
 */
export function toWireReviewed(
  reviewed: ReviewedRequest,
  publicUrl: string,
  { reviewerId }: { readonly reviewerId: string },
  now: number,
  facts: CallFacts,
): Wire {
  const { request, votes, claim, commentCount, absences, delayed, consumption, freeze } = reviewed;
  return {
    ...toWireRequest(request, { server: true, consumption }),
    instance: { id: request.instanceId, name: new JsonText(reviewed.instanceName) },
    arguments_sha256: sha256Hex(request.arguments),
    decided_by: request.decision?.decidedBy,
    decider: reviewed.decider,
    freeze: freeze && {
      frozen_by: freeze.frozenBy,
      reviewer: freeze.reviewer,
      frozen_at: formatTimestamp(freeze.frozenAt),
    },
    line: facts.line,
    signals: toWireSignals(facts.signals),
    policy: toWirePolicy(reviewed),
    requirement: toWireRequirement(reviewed, publicUrl),
    votes: votes.map(({ reviewer, note, at }) => {
      return { reviewer, at: formatTimestamp(at), note: textOf(note) };
    }),
    claim: claim && {
      reviewer: claim.reviewer,
      own: claim.reviewerId === reviewerId,
      at: formatTimestamp(claim.at),
      until: formatTimestamp(claim.until),
    },
    comment_count: commentCount === 0 ? undefined : commentCount,
    absences: absences.length === 0 ? undefined : absences.map((one) => toWireAbsence(one, now)),
    held: delayed && {
      verdict: delayed.verdict,
      held_at: formatTimestamp(delayed.receivedAt),
      commits_at: formatTimestamp(delayed.commitsAt),
      note: textOf(delayed.note),
    },
    may_decide: reviewed.mayDecide,
  };
}

function toWireSignals(signals: readonly Signal[]): Wire["signals"] {
  return signals.length === 0 ? undefined : [...signals];
}

function toWirePolicy({ judgement }: ReviewedRequest): Wire["policy"] {
  const { verb, because, fired, errors, project, floor, note } = judgement;
  return { verdict: verb, because, fired, errors, versions: { project, floor }, note };
}

function toWireRequirement(
  { request, requirement, judgement }: ReviewedRequest,
  publicUrl: string,
): Wire["requirement"] {
  const { from, quorum, quorums, excludeOwner, confirm, noteRequired, grants, bots } = requirement;
  const { validityMs } = judgement;
  // A resolved request is not escalated any more.
  const steps = scheduleEscalations(judgement, request).filter(
    ({ doneAt }) => doneAt !== undefined || request.decision === null,
  );
  // For reviewers who cannot sign here, because they use a token.
  const signAt = needsPasskey(requirement) ? requestPageOf(publicUrl, request) : undefined;
  return {
    from,
    quorum,
    quorums,
    exclude: excludeOwner ? ["owner"] : [],
    confirm: { ...confirm, sign_at: signAt },
    note: noteRequired ? "required" : "optional",
    grants,
    bots,
    channels: requirement.channels,
    valid_for_max: validityMs === undefined ? undefined : formatDuration(validityMs),
    escalate: steps.length === 0 ? undefined : steps.map(toWireStep),
  };
}

function toWireStep({ to, dueAt, doneAt, onCall }: ScheduledEscalation) {
  return {
    to,
    on_call: onCall === undefined ? undefined : [...onCall],
    at: formatTimestamp(dueAt),
    done_at: doneAt === undefined ? undefined : formatTimestamp(doneAt),
  };
}

/** @param now the server's time */
export function toWireBackground(
  { lastApproved, similar, deniedBefore, signals, timeline }: Background,
  now: string,
): Writable<WireBackground> {
  const count = (status: "approved" | "denied" | "expired" | "cancelled" | "pending") =>
    similar.counts.get(status) ?? 0;
  return {
    last_approved: toWireApproved(lastApproved),
    similar: {
      since: formatTimestamp(similar.since),
      approved: count("approved"),
      denied: count("denied"),
      expired: count("expired"),
      cancelled: count("cancelled"),
      pending: count("pending"),
      complete: similar.isComplete,
    },
    denied_before: toWireDenied(deniedBefore),
    signals: toWireSignals(signals),
    timeline: timeline.map(({ at, ...entry }) => ({ at: formatTimestamp(at), ...entry })),
    now,
  };
}

function toWireApproved(
  request: Background["lastApproved"],
): Writable<WireBackground>["last_approved"] {
  if (request === undefined || request.decision === null) return null;
  const { id, createdAt, decision, arguments: source } = request;
  return {
    id,
    created_at: formatTimestamp(createdAt),
    decided_at: formatTimestamp(decision.decidedAt),
    decided_by: decision.decidedBy,
    arguments_sha256: sha256Hex(source),
    arguments: new JsonText(source),
  };
}

function toWireDenied(
  denied: Background["deniedBefore"],
): Writable<WireBackground>["denied_before"] {
  if (denied === undefined) return null;
  const { id, decidedAt, decidedBy, decider, note } = denied;
  return {
    id,
    decided_at: formatTimestamp(decidedAt),
    decided_by: decidedBy,
    decider,
    note: textOf(note),
  };
}
