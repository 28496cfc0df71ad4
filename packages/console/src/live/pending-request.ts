/**
 * A request of the reviewer API: its members parsed for the page, and its arguments
 * as the text that is stored. Pure, so that it is tested without a browser.
 */

import type { DelayedVerdict, ReviewedRequest } from "@countersign/review-api";
import { exactText } from "@countersign/review-api/exact";

export interface PendingRequest extends Omit<ReviewedRequest, "held"> {
  /** Letter for letter what is stored, and what `arguments_sha256` is about. */
  readonly argumentsSource: string;
  /** Epoch ms, by the server's clock. */
  readonly deadlineAt: number;
  /** The caller's scheduled verdict, which they can still undo. */
  readonly held: DelayedVerdict | undefined;
}

/** @param wire as the client parsed it: the exact text of its arguments is known */
export function readRequest(wire: ReviewedRequest): PendingRequest {
  return {
    ...wire,
    argumentsSource: exactText(wire.arguments),
    deadlineAt: Date.parse(wire.deadline_at),
    held: wire.held,
  };
}

/** Earliest deadline first; for equal deadlines the older request, as the server lists them. */
export function byDeadline(a: PendingRequest, b: PendingRequest): number {
  return a.deadlineAt - b.deadlineAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Whether it is the caller's to approve; what one may only refuse waits for others. */
export function isMine({ may_decide }: PendingRequest): boolean {
  return may_decide.approve;
}

/** Whether there is anything that the caller may do about it. */
export function isDecidable({ may_decide }: PendingRequest): boolean {
  return may_decide.approve || may_decide.deny;
}
