/**
 * A request as the reviewer surface tells it: its members parsed for the page, and its arguments
 * as the text that is stored. Pure, so that it is tested without a browser.
 *
 * Called by: the live store and what shows requests.
 */

import { memberSource } from "../exact/source.ts";

export interface Requirement {
  readonly from: readonly (readonly string[])[];
  readonly quorum: number;
  readonly quorums?: readonly number[];
  readonly exclude: readonly string[];
  readonly confirm: {
    readonly kind: "click" | "type" | "match" | "passkey";
    readonly text?: string;
  };
  readonly note: "required" | "optional";
  readonly bots: boolean;
}

export interface PolicyJudgement {
  readonly verdict: "approve" | "ask" | "deny";
  /** The rule, or `no-match`, `error`, `inexact`, `no-policy`. */
  readonly because: string;
  readonly fired: readonly string[];
  readonly errors: readonly { readonly rule: string; readonly message: string }[];
  readonly note?: string;
}

export interface HeldVerdict {
  readonly verdict: "approve" | "deny";
  readonly commits_at: string;
}

/** The members as `GET /review/v1/requests/{id}` answers them; never its `arguments`. */
interface WireRequest {
  readonly id: string;
  readonly tool: string;
  readonly status: string;
  readonly created_at: string;
  readonly deadline_at: string;
  readonly instance: { readonly id: string; readonly name: string };
  readonly arguments_sha256: string;
  readonly policy: PolicyJudgement;
  readonly requirement: Requirement;
  readonly votes: readonly { readonly reviewer: string; readonly at: string }[];
  readonly may_decide: {
    readonly approve: boolean;
    readonly deny: boolean;
    readonly reason?: string;
  };
  readonly held?: HeldVerdict;
}

export interface PendingRequest extends Omit<WireRequest, "held"> {
  /** Letter for letter what is stored, and what `arguments_sha256` is about. */
  readonly argumentsSource: string;
  /** Epoch ms, by the server's clock. */
  readonly deadlineAt: number;
  /** What the caller has sent and can still take back. */
  readonly held: HeldVerdict | undefined;
}

/** @param source as the server wrote it */
export function readRequest(source: string): PendingRequest {
  const wire = JSON.parse(source) as WireRequest;
  const argumentsSource = memberSource(source, "arguments");
  if (argumentsSource === undefined) throw new Error("a request came without its arguments");
  return {
    ...wire,
    argumentsSource,
    deadlineAt: Date.parse(wire.deadline_at),
    held: wire.held,
  };
}

/** What ends first is first; of equal ends the older one, as the server lists them. */
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

/** Whether one approval may not be enough. */
export function takesVotes({ from, quorum }: Requirement): boolean {
  return quorum > 1 || from.length > 1;
}
