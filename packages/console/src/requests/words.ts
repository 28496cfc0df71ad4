/**
 * Descriptions of requests for the screens. Pure, so that it is tested without a browser. The
 * result is plain text: callers must still mark invisible characters of names.
 */

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
}

/** "4 min 05 s": how long, in the two greatest units. */
export function duration(ms: number): string {
  const s = Math.ceil(ms / 1000);
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${String(s % 60).padStart(2, "0")} s`;
  const h = Math.floor(min / 60);
  if (h < 48) return `${h} h ${String(min % 60).padStart(2, "0")} min`;
  return `${Math.floor(h / 24)} days`;
}

export function timeLeft(ms: number): string {
  return ms <= 0 ? "Time is up" : `${duration(ms)} left`;
}

/** "3 min ago": to the greatest unit. */
export function timeAgo(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 5) return "just now";
  if (s < 60) return `${s} s ago`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ago`;
  const h = Math.floor(min / 60);
  return h < 48 ? `${h} h ago` : `${Math.floor(h / 24)} days ago`;
}

/** A group or a reviewer, as a requirement names them. */
function nameOf(selector: string): string {
  if (selector.startsWith("oncall:")) return `on call ${selector.slice("oncall:".length)}`;
  return selector.startsWith("group:")
    ? `group ${selector.slice("group:".length)}`
    : selector.replace(/^reviewer:/, "");
}

function onCallText(onCall: readonly string[]): string {
  return onCall.length === 0 ? "no known reviewer is on call" : onCall.map(nameOf).join(", ");
}

function anyOf(set: readonly string[]): string {
  return set.map(nameOf).join(" or ");
}

function eachOf({ from, quorums }: Pick<ApprovalRequirement, "from" | "quorums">): string {
  return from.map((set, index) => `${quorums?.[index] ?? 1} of ${anyOf(set)}`).join(", and ");
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
  const several = `${quorum} different reviewers`;
  const [only] = from;
  let who: string;
  if (only === undefined) who = quorum === 1 ? "Any one reviewer" : several;
  else if (from.length === 1) who = `${quorum === 1 ? "One" : quorum} of ${anyOf(only)}`;
  else {
    const each = eachOf(quorums === undefined ? { from } : { from, quorums });
    who = `${quorum > 1 ? `${several}: ` : ""}${each}`;
  }
  const owner = exclude.includes("owner") ? "; not the instance's owner" : "";
  const places = channels === undefined ? "" : `; only in ${channels.map(placeName).join(", ")}`;
  return `${who}${owner}${bots ? "; bots may approve" : ""}${places}`;
}

const PLACES: Readonly<Record<string, string>> = {
  console: "the console",
  api: "the API",
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
  const group = `to ${nameOf(to)}${onCall === undefined ? "" : `: ${onCallText(onCall)}`}`;
  if (doneAt !== undefined) return `${group}, ${timeAgo(now - Date.parse(doneAt))}`;
  const leftMs = Date.parse(at) - now;
  return leftMs <= 0 ? `${group} now` : `${group} in ${duration(leftMs)}`;
}

/** Confirmations that an approval needs; empty when a click is enough. */
export function describeConfirmation({
  confirm,
  note,
}: Pick<ApprovalRequirement, "confirm" | "note">): string {
  const parts = [
    note === "required" ? "a note" : "",
    confirm.kind === "type" || confirm.kind === "match" ? "a few typed characters" : "",
    confirm.kind === "passkey" ? "a passkey" : "",
  ];
  return parts.filter((part) => part !== "").join(" and ");
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
  if (quorum > 1) return `${count} of ${quorum} approvals`;
  return count === 1 ? "1 approval so far" : `${count} approvals so far`;
}

/** The approvals that are still missing. */
export function stillMissing({ requirement, votes }: Voted): string {
  const { quorum, from } = requirement;
  const more = quorum - votes.length;
  if (more > 0) {
    const people = more === 1 ? "1 more person" : `${more} more people`;
    const group = from.length === 1 ? ` of ${anyOf(from[0] ?? [])}` : "";
    return `${people}${group} must approve.`;
  }
  return `Another reviewer must approve too. Required: ${eachOf(requirement)}.`;
}

const DONE: Readonly<Record<string, string>> = {
  approved: "Approved",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

const ACTORS: Readonly<Record<string, string>> = {
  instance: "by the agent",
  grant: "by a grant",
  freeze: "by a freeze",
  reviewer: "by a reviewer",
};

/**
 * The outcome of a request and its decider.
 *
 * @param me name of the signed-in reviewer
 */
export function outcomeOf({ status, decided_by: by = "", decider }: Ended, me?: string): string {
  const done = DONE[status] ?? status;
  if (decider !== undefined) return decider === me ? `${done} by you` : `${done} by ${decider}`;
  const [kind = "", ...rest] = by.split(":");
  if (by === "system:deadline") return `${done}: no decision in time`;
  if (by === "system:instance-deletion") return `${done}: its instance was deleted`;
  if (kind === "policy") return `${done} by policy: ${rest.join(":")}`;
  const actor = ACTORS[kind];
  return actor === undefined ? done : `${done} ${actor}`;
}
