/**
 * State of a request for the signed-in user, and the actions available now. Pure, so that it is
 * tested without a browser.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import { t } from "../../language/t.ts";
import { outcomeOf, stillMissing } from "../../requests/words.ts";

/** How long an approval can be taken back before it counts. */
export const HOLD_MS = 5_000;

/** The server gives what is held so long before the deadline at the latest. */
const BEFORE_DEADLINE_MS = 1_000;

/**
 * Whether an approval that is sent now is held first: not one that a passkey signs, and not where
 * the deadline would cut the hold short.
 *
 * @param now by the server's clock, epoch ms
 */
export function hasUndo(
  { requirement, deadline_at: at }: Pick<ReviewedRequest, "requirement" | "deadline_at">,
  now: number,
): boolean {
  if (requirement.confirm.kind === "passkey") return false;
  return Date.parse(at) - now >= HOLD_MS + BEFORE_DEADLINE_MS;
}

export interface Seen {
  readonly request: ReviewedRequest;
  /** The reviewer that the person is in the project. */
  readonly me: string | undefined;
  /** Whether the deadline has passed, by the server's clock. */
  readonly isOver: boolean;
  /** Whether too little time is left for an approval to be held. */
  readonly isShort: boolean;
  readonly isLive: boolean;
  /** The end of the arguments was on the screen, or all of them were asked for. */
  readonly hasSeenEnd: boolean;
  /** Whether earlier calls are still loading. */
  readonly isLoadingHistory: boolean;
  /** Whether there was something to press before; it then stays where it is. */
  readonly wasOffered: boolean;
}

export interface AvailableActions {
  /** Pending, in time and heard of. */
  readonly isOpen: boolean;
  readonly isOffered: boolean;
  readonly canApprove: boolean;
  readonly canDeny: boolean;
  readonly canWithdraw: boolean;
  /** Whether the fields of an approval have a use. */
  readonly canFill: boolean;
  /** A verdict of the person's own waits to be given. */
  readonly isHeld: boolean;
  /** Status message; empty while the request awaits a decision. */
  readonly status: string;
  /** Why something cannot be pressed. */
  readonly hint: string;
}

export function availableActions(seen: Seen): AvailableActions {
  const { request, me, isLive, hasSeenEnd, isLoadingHistory, wasOffered } = seen;
  const may = request.may_decide;
  const isPending = request.status === "pending";
  const isOver = isPending && seen.isOver;
  const isOpen = isPending && !isOver && isLive;
  const isHeld = isPending && request.held !== undefined;
  const canDecide = isOpen && !isHeld;
  const hasVoted = isPending && request.votes.some(({ reviewer }) => reviewer === me);
  return {
    isOpen,
    isHeld,
    isOffered: isPending && (wasOffered || may.approve || may.deny),
    canApprove: canDecide && may.approve && hasSeenEnd && !isLoadingHistory,
    canDeny: canDecide && may.deny,
    canWithdraw: hasVoted,
    canFill: isPending && may.approve && !isHeld,
    status: statusOf(request, me, hasVoted),
    hint: isPending && !isOver && !hasVoted && !isHeld ? hintOf(seen) : "",
  };
}

function statusOf(request: ReviewedRequest, me: string | undefined, hasVoted: boolean): string {
  if (request.status !== "pending") return `${outcomeOf(request, me)}.`;
  return hasVoted ? t`Your approval is recorded. ${stillMissing(request)}` : "";
}

function hintOf({ request, hasSeenEnd, isLoadingHistory, isShort }: Seen): string {
  const may = request.may_decide;
  if (may.reason !== undefined) return may.reason;
  if (!hasSeenEnd) return t`To approve, scroll to the end of the arguments, or select Show all.`;
  if (isLoadingHistory) return t`Loading earlier calls like this one…`;
  const isSigned = request.requirement.confirm.kind === "passkey";
  return isShort && may.approve && !isSigned ? AT_ONCE : "";
}

const AT_ONCE = t`Little time is left: an approval takes effect immediately, without Undo.`;
