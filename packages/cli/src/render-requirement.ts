/** Why policy asked people, and what a decision requires, in words. */

import type { ReviewedRequest } from "@countersign/review-api";
import { visibleText } from "./visible-text.ts";

/** Whether a policy judged the request. */
export function isJudged({ policy }: ReviewedRequest): boolean {
  return policy.because !== "no-policy";
}

/** Lines of a card, without their line breaks. */
export function renderRequirement(request: ReviewedRequest): string[] {
  const { policy, votes, requirement, may_decide: mayDecide } = request;
  const isPending = request.decision === undefined;
  const lines: string[] = [];
  if (isJudged(request)) {
    const note = policy.note === undefined ? "" : `: ${visibleText(policy.note)}`;
    lines.push(`policy     ${policy.verdict} because ${visibleText(policy.because)}${note}`);
  }
  for (const { rule, message } of policy.errors) {
    lines.push(`  failed   ${visibleText(`${rule}: ${message}`)}`);
  }
  if (isPending && request.claim !== undefined) {
    const { reviewer, until } = request.claim;
    lines.push(`claimed    ${visibleText(reviewer)} reviews it, until ${until}`);
  }
  const needs = needsOf(request);
  if (isPending && needs !== "") lines.push(`needs      ${needs}`);
  for (const { to, at, done_at: doneAt, on_call: onCall } of requirement.escalate ?? []) {
    const time = doneAt === undefined ? `at ${at}` : `since ${doneAt}`;
    const people = onCall?.map((each) => visibleText(each.replace(/^reviewer:/, "")));
    const reached = people && `: ${people.join(", ") || "no known reviewer is on call"}`;
    lines.push(`escalation to ${visibleText(to)} ${time}${reached ?? ""}`);
  }
  for (const { reviewer, at, note } of votes) {
    const noteText = note === undefined ? "" : `: ${visibleText(note)}`;
    lines.push(`approved   by ${visibleText(reviewer)} at ${at}${noteText}`);
  }
  const { sign_at: signAt } = requirement.confirm;
  if (isPending && signAt !== undefined) lines.push(`sign at    ${visibleText(signAt)}`);
  if (isPending && mayDecide.reason !== undefined) {
    lines.push(`you        cannot approve: ${visibleText(mayDecide.reason)}`);
  }
  return lines;
}

/** The requirement for an approval; empty where one click of any reviewer is enough. */
export function needsOf({ requirement }: ReviewedRequest): string {
  const { from, quorum, quorums = [], exclude, confirm, note, bots, channels } = requirement;
  const sets = from.map((set) => set.map(visibleText).join(" or "));
  const parts = [
    quorum > 1 ? `${quorum} approvals` : "",
    sets.length === 0 ? "" : describeQuorums(sets, quorums),
  ];
  const who = parts.filter((part) => part !== "").join(" ");
  const others = [
    exclude.includes("owner") ? "not by the owner" : "",
    note === "required" ? "a note" : "",
    bots ? "bots count" : "",
    channels === undefined ? "" : `only in ${channels.map(visibleText).join(", ")}`,
    confirm.kind === "type" ? `the typed text ${visibleText(confirm.text ?? "")}` : "",
    confirm.kind === "match" ? "the typed end of the request's id" : "",
    confirm.kind === "passkey" ? "a passkey" : "",
  ];
  return [who, ...others].filter((part) => part !== "").join("; ");
}

function describeQuorums(sets: readonly string[], quorums: readonly number[]): string {
  if (quorums.length === 0) return `of ${sets.join(", and of ")}`;
  const counted = sets.map((set, index) => `${quorums[index] ?? 1} of ${set}`);
  return `with ${counted.join(", and ")}`;
}

/** A few words for a row of a table. */
export function shortNeeds({ requirement, votes, may_decide }: ReviewedRequest): string {
  const { from, quorum, confirm, note } = requirement;
  const words = [
    quorum > 1 ? `${votes.length}/${quorum}` : from.length > 1 ? `${votes.length} so far` : "",
    may_decide.approve ? "" : "not you",
    note === "required" ? "note" : "",
    confirm.kind === "click" ? "" : confirm.kind,
  ];
  return words.filter((word) => word !== "").join(", ");
}

/** The rule that asked; empty without one. */
export function shortCause(request: ReviewedRequest): string {
  return isJudged(request) ? request.policy.because : "";
}
