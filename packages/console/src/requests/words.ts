/**
 * Descriptions of requests for the screens. Pure, so that it is tested without a browser. The
 * result is plain text: callers must still mark invisible characters of names.
 */

import { plural, t } from "../language/t.ts";
import { relativeTime } from "../parts/time-words.ts";

export interface ApprovalRequirement {
  readonly from: readonly (readonly string[])[];
  readonly quorum: number;
  readonly quorums?: readonly number[] | undefined;
  readonly exclude: readonly string[];
  readonly confirm: { readonly kind: string };
  readonly note: string;
  readonly bots: boolean;
  readonly channels?: readonly string[] | undefined;
}

export interface Voted {
  readonly requirement: ApprovalRequirement;
  readonly votes: readonly unknown[];
}

export interface Ended {
  readonly status: string;
  readonly decided_by?: string | undefined;
  readonly decider?: string | undefined;
  /** The freeze that denied the request. */
  readonly freeze?: { readonly reviewer?: string | undefined } | undefined;
}

/** "4 min 05 s": how long, in the two greatest units. */
export function duration(ms: number): string {
  const s = Math.ceil(ms / 1000);
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${String(s % 60).padStart(2, "0")} s`;
  const h = Math.floor(min / 60);
  if (h < 48) return `${h} h ${String(min % 60).padStart(2, "0")} min`;
  return plural(Math.floor(h / 24), { one: "1 day", other: "# days" });
}

export function timeLeft(ms: number): string {
  return ms <= 0 ? t`Time is up` : t`${duration(ms)} left`;
}

/** A group or a reviewer, as a requirement names them. */
function nameOf(selector: string): string {
  if (selector.startsWith("oncall:")) return t`on call ${selector.slice("oncall:".length)}`;
  return selector.startsWith("group:")
    ? t`group ${selector.slice("group:".length)}`
    : selector.replace(/^reviewer:/, "");
}

function onCallText(onCall: readonly string[]): string {
  return onCall.length === 0 ? t`no known reviewer is on call` : onCall.map(nameOf).join(", ");
}

function anyOf(set: readonly string[]): string {
  return set.map(nameOf).join(t` or `);
}

function eachOf({ from, quorums }: Pick<ApprovalRequirement, "from" | "quorums">): string {
  return from.map((set, index) => t`${quorums?.[index] ?? 1} of ${anyOf(set)}`).join(t`, and `);
}

/** The required approvers and their number. */
export function describeApprovers({
  from,
  quorum,
  quorums,
  exclude,
  bots,
  channels,
}: ApprovalRequirement): string {
  const several = plural(quorum, { one: "1 reviewer", other: "# different reviewers" });
  const [only] = from;
  let who: string;
  if (only === undefined) who = quorum === 1 ? t`Any one reviewer` : several;
  else if (from.length === 1) {
    who = quorum === 1 ? t`One of ${anyOf(only)}` : t`${quorum} of ${anyOf(only)}`;
  } else {
    const each = eachOf(quorums === undefined ? { from } : { from, quorums });
    who = quorum > 1 ? `${several}: ${each}` : each;
  }
  const parts = [
    who,
    exclude.includes("owner") ? t`not the instance's owner` : "",
    bots ? t`bots may approve` : "",
    channels === undefined ? "" : t`only in ${channels.map(placeName).join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join("; ");
}

const PLACES: Readonly<Record<string, string>> = {
  console: t`the console`,
  api: t`the API`,
  slack_app: "Slack",
  telegram: "Telegram",
  discord: "Discord",
  mattermost: "Mattermost",
};

function placeName(place: string): string {
  return PLACES[place] ?? place;
}

/** A step of the escalation of a request. */
export interface EscalationStep {
  readonly to: string;
  readonly on_call?: readonly string[] | undefined;
  readonly at: string;
  readonly done_at?: string | undefined;
}

/**
 * "to group leads in 4 min 10 s", or "to group leads, 2 min ago".
 *
 * @param now the server's time, epoch ms
 */
export function describeEscalation(step: EscalationStep, now: number) {
  const { to, at, done_at: doneAt, on_call: onCall } = step;
  const group = onCall === undefined ? nameOf(to) : `${nameOf(to)}: ${onCallText(onCall)}`;
  if (doneAt !== undefined) return t`to ${group}, ${relativeTime(Date.parse(doneAt), now)}`;
  const leftMs = Date.parse(at) - now;
  return leftMs <= 0 ? t`to ${group} now` : t`to ${group} in ${duration(leftMs)}`;
}

/** Confirmations that an approval needs; empty when a click is enough. */
export function describeConfirmation({
  confirm,
  note,
}: Pick<ApprovalRequirement, "confirm" | "note">): string {
  const parts = [
    note === "required" ? t`a note` : "",
    confirm.kind === "type" || confirm.kind === "match" ? t`a few typed characters` : "",
    confirm.kind === "passkey" ? t`a passkey` : "",
  ];
  return parts.filter((part) => part !== "").join(t` and `);
}

/** Whether one approval may not be enough. */
export function collectsVotes({
  from,
  quorum,
}: Pick<ApprovalRequirement, "from" | "quorum">): boolean {
  return quorum > 1 || from.length > 1;
}

/** "1 of 2 approvals": empty where the first one decides. */
export function countVotes({ requirement, votes }: Voted): string {
  if (!collectsVotes(requirement)) return "";
  const { quorum } = requirement;
  const count = votes.length;
  if (quorum > 1) return t`${count} of ${quorum} approvals`;
  return plural(count, { one: "1 approval so far", other: "# approvals so far" });
}

/** The approvals that are still missing. */
export function stillMissing({ requirement, votes }: Voted): string {
  const { quorum, from } = requirement;
  const more = quorum - votes.length;
  if (more <= 0) {
    return t`Another reviewer must approve too. Required: ${eachOf(requirement)}.`;
  }
  const [group] = from;
  if (group === undefined || from.length > 1) {
    return plural(more, {
      one: "1 more person must approve.",
      other: "# more people must approve.",
    });
  }
  return plural(
    more,
    {
      one: "1 more person of {0} must approve.",
      other: "# more people of {0} must approve.",
    },
    anyOf(group),
  );
}

const DONE: Readonly<Record<string, string>> = {
  approved: t`Approved`,
  denied: t`Denied`,
  expired: t`Expired`,
  cancelled: t`Cancelled`,
};

const BY_ACTOR: Readonly<Record<string, (done: string) => string>> = {
  instance: (done) => t`${done} by the agent`,
  grant: (done) => t`${done} by a grant`,
  freeze: (done) => t`${done} by a freeze`,
  reviewer: (done) => t`${done} by a reviewer`,
};

/**
 * The outcome of a request and its decider.
 *
 * @param me name of the signed-in reviewer
 */
export function outcomeOf(ended: Ended, me?: string): string {
  const { status, decided_by: by = "", decider, freeze } = ended;
  const done = DONE[status] ?? status;
  if (decider !== undefined) return decider === me ? t`${done} by you` : t`${done} by ${decider}`;
  const [kind = "", ...rest] = by.split(":");
  if (by === "system:deadline") return t`${done}: no decision in time`;
  if (by === "system:instance-deletion") return t`${done}: its instance was deleted`;
  if (kind === "policy") return t`${done} by policy: ${rest.join(":")}`;
  if (kind === "freeze" && freeze?.reviewer !== undefined) {
    return freeze.reviewer === me
      ? t`${done} by your freeze`
      : t`${done} by a freeze of ${freeze.reviewer}`;
  }
  return BY_ACTOR[kind]?.(done) ?? done;
}

interface ScheduledVerdict {
  readonly verdict: "approve" | "deny";
  readonly commits_at: string;
}

/** @param now the server's time, epoch ms */
export function secondsUntil(at: string, now: number): number {
  return Math.max(0, Math.ceil((Date.parse(at) - now) / 1_000));
}

export function verdictInProgress({ verdict }: Pick<ScheduledVerdict, "verdict">): string {
  return verdict === "deny" ? t`Denying` : t`Approving`;
}

/** "Approving in 4 s". */
export function describeHeld(held: ScheduledVerdict, now: number): string {
  const left = secondsUntil(held.commits_at, now);
  const doing = verdictInProgress(held);
  return left > 0 ? t`${doing} in ${left} s` : t`${doing}…`;
}
