/**
 * How a request stands for the person who looks, and what they can do now. Pure, so that it is
 * tested without a browser.
 */

import type { WireRequest } from "../../requests/wire.ts";
import { outcomeOf, stillMissing } from "../../requests/words.ts";

export interface Seen {
  readonly request: WireRequest;
  /** The reviewer that the person is in the project. */
  readonly me: string | undefined;
  /** Whether the deadline has passed, by the server's clock. */
  readonly isOver: boolean;
  readonly isLive: boolean;
  /** The end of the arguments was on the screen, or all of them were asked for. */
  readonly hasSeenEnd: boolean;
  /** What earlier calls say is still on its way. */
  readonly isLookingBack: boolean;
  /** Whether there was something to press before; it then stays where it is. */
  readonly wasOffered: boolean;
}

export interface Standing {
  /** Pending, in time and heard of. */
  readonly isOpen: boolean;
  readonly isOffered: boolean;
  readonly canApprove: boolean;
  readonly canDeny: boolean;
  readonly canWithdraw: boolean;
  /** A verdict of the person's own waits to be given. */
  readonly isHeld: boolean;
  /** What there is to say; empty when people are just to decide. */
  readonly status: string;
  /** Why something cannot be pressed. */
  readonly hint: string;
}

export function standingOf(seen: Seen): Standing {
  const { request, me, isLive, hasSeenEnd, isLookingBack, wasOffered } = seen;
  const may = request.may_decide;
  const isPending = request.status === "pending";
  const isOver = isPending && seen.isOver;
  const isOpen = isPending && !isOver && isLive;
  const isHeld = isPending && request.held !== undefined;
  const canDecide = isOpen && !isHeld;
  const hasVoted = isPending && request.votes.some(({ reviewer }) => reviewer === me);
  return {
    ...{ isOpen, isHeld },
    isOffered: wasOffered || (isPending && (may.approve || may.deny)),
    canApprove: canDecide && may.approve && hasSeenEnd && !isLookingBack,
    canDeny: canDecide && may.deny,
    canWithdraw: hasVoted,
    status: statusOf(request, me, hasVoted),
    hint: isPending && !isOver && !hasVoted && !isHeld ? hintOf(seen) : "",
  };
}

function statusOf(request: WireRequest, me: string | undefined, hasVoted: boolean): string {
  if (request.status !== "pending") return `${outcomeOf(request, me)}.`;
  return hasVoted ? `Your approval is kept. ${stillMissing(request)}` : "";
}

function hintOf({ request: { may_decide: may }, hasSeenEnd, isLookingBack }: Seen): string {
  if (may.reason !== undefined) return may.reason;
  if (!hasSeenEnd) return "To approve, read to the end of the arguments or show all.";
  return isLookingBack ? "Looking for earlier calls like this one…" : "";
}
