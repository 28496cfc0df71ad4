/**
 * Why a request came to people and what deciding it takes, as the reviewer surface tells it and as
 * people read it.
 */

import { JsonArray, JsonNumber, JsonObject, type JsonValue } from "@countersign/protocol";
import { object, text } from "./json-members.ts";
import { visibleText } from "./visible-text.ts";

export interface Asked {
  /** approve, ask or deny */
  readonly verdict: string;
  /** The rule, or why there is none. */
  readonly because: string;
  readonly note: string | undefined;
  /** Rules that failed, as `rule: message`. */
  readonly errors: readonly string[];
  /** Sets of `group:x` and `reviewer:y`; empty: any reviewer. */
  readonly from: readonly (readonly string[])[];
  readonly quorum: number;
  /** How many of each set of `from`; empty: one of each. */
  readonly quorums: readonly number[];
  readonly excludesOwner: boolean;
  /** click, type, match or passkey */
  readonly confirm: string;
  /** What is to be typed, with `type`. */
  readonly confirmText: string | undefined;
  /** The page on which a person signs, with `passkey`. */
  readonly signAt: string | undefined;
  readonly isNoteRequired: boolean;
  /** Whether approvals by bots count. */
  readonly takesBots: boolean;
  readonly votes: readonly Vote[];
  readonly mayApprove: boolean;
  /** Why not. */
  readonly reason: string | undefined;
}

interface Vote {
  readonly reviewer: string;
  readonly at: string;
  readonly note: string | undefined;
}

/** @returns undefined for a server that does not tell */
export function readAsked(request: JsonObject): Asked | undefined {
  const policy = object(request, "policy");
  const requirement = object(request, "requirement");
  const mayDecide = object(request, "may_decide");
  if (policy === undefined || requirement === undefined || mayDecide === undefined) {
    return undefined;
  }
  const confirm = object(requirement, "confirm");
  return {
    verdict: text(policy, "verdict") ?? "",
    because: text(policy, "because") ?? "",
    note: text(policy, "note"),
    errors: objects(policy, "errors").map((each) => {
      return `${text(each, "rule") ?? ""}: ${text(each, "message") ?? ""}`;
    }),
    from: items(requirement, "from").map((set) => (set instanceof JsonArray ? texts(set) : [])),
    quorum: Number(text(requirement, "quorum") ?? 1),
    quorums: items(requirement, "quorums").map((each) =>
      each instanceof JsonNumber ? Number(each.source) : 1,
    ),
    excludesOwner: items(requirement, "exclude").includes("owner"),
    confirm: confirm === undefined ? "click" : (text(confirm, "kind") ?? "click"),
    confirmText: confirm && text(confirm, "text"),
    signAt: confirm && text(confirm, "sign_at"),
    isNoteRequired: text(requirement, "note") === "required",
    takesBots: requirement.members.get("bots") === true,
    votes: objects(request, "votes").map((vote) => ({
      reviewer: text(vote, "reviewer") ?? "",
      at: text(vote, "at") ?? "",
      note: text(vote, "note"),
    })),
    mayApprove: mayDecide.members.get("approve") === true,
    reason: text(mayDecide, "reason"),
  };
}

function items(parent: JsonObject, name: string): readonly JsonValue[] {
  const value = parent.members.get(name);
  return value instanceof JsonArray ? value.items : [];
}

function objects(parent: JsonObject, name: string): readonly JsonObject[] {
  return items(parent, name).filter((item) => item instanceof JsonObject);
}

function texts(array: JsonArray): string[] {
  return array.items.filter((item) => typeof item === "string");
}

/** Whether policy had something to say. */
export function isJudged(asked: Asked | undefined): asked is Asked {
  return asked !== undefined && asked.because !== "no-policy";
}

/** Lines of a card, without their end. */
export function renderAsked(asked: Asked, isPending: boolean): string[] {
  const lines: string[] = [];
  if (isJudged(asked)) {
    const note = asked.note === undefined ? "" : `: ${visibleText(asked.note)}`;
    lines.push(`policy     ${asked.verdict} because ${visibleText(asked.because)}${note}`);
  }
  lines.push(...asked.errors.map((error) => `  failed   ${visibleText(error)}`));
  const needs = needsOf(asked);
  if (isPending && needs !== "") lines.push(`needs      ${needs}`);
  lines.push(
    ...asked.votes.map(({ reviewer, at, note }) => {
      const said = note === undefined ? "" : `: ${visibleText(note)}`;
      return `approved   by ${visibleText(reviewer)} at ${at}${said}`;
    }),
  );
  if (isPending && asked.signAt !== undefined) {
    lines.push(`sign at    ${visibleText(asked.signAt)}`);
  }
  if (isPending && asked.reason !== undefined) {
    lines.push(`you        cannot approve: ${visibleText(asked.reason)}`);
  }
  return lines;
}

/** What an approval takes, in words; empty when one click of anybody does. */
export function needsOf(asked: Asked): string {
  const { from, quorum, quorums, excludesOwner, confirm, confirmText, isNoteRequired, takesBots } =
    asked;
  const sets = from.map((set) => set.map(visibleText).join(" or "));
  const parts = [
    quorum > 1 ? `${quorum} approvals` : "",
    sets.length === 0 ? "" : whose(sets, quorums),
  ];
  const who = parts.filter((part) => part !== "").join(" ");
  const others = [
    excludesOwner ? "not by the owner" : "",
    isNoteRequired ? "a note" : "",
    takesBots ? "bots count" : "",
    confirm === "type" ? `the typed text ${visibleText(confirmText ?? "")}` : "",
    confirm === "match" ? "the typed end of the request's id" : "",
    confirm === "passkey" ? "a passkey" : "",
  ];
  return [who, ...others].filter((part) => part !== "").join("; ");
}

function whose(sets: readonly string[], quorums: readonly number[]): string {
  if (quorums.length === 0) return `of ${sets.join(", and of ")}`;
  const counted = sets.map((set, index) => `${quorums[index] ?? 1} of ${set}`);
  return `with ${counted.join(", and ")}`;
}

/** A few words for a row of a table. */
export function shortNeeds(asked: Asked | undefined): string {
  if (asked === undefined) return "";
  const { from, quorum, confirm, isNoteRequired, votes, mayApprove } = asked;
  const words = [
    quorum > 1 ? `${votes.length}/${quorum}` : from.length > 1 ? `${votes.length} so far` : "",
    mayApprove ? "" : "not you",
    isNoteRequired ? "note" : "",
    confirm === "click" ? "" : confirm,
  ];
  return words.filter((word) => word !== "").join(", ");
}

/** The rule that asked; empty when none did. */
export function shortCause(asked: Asked | undefined): string {
  return isJudged(asked) ? asked.because : "";
}
