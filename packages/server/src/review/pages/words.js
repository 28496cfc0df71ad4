/**
 * What the pages say about requests, in words. Pure, so that it is tested without a browser; all
 * of it is text, and names in it are still to be made visible.
 */

/**
 * @param {number} ms
 * @returns {string}
 */
export function timeLeft(ms) {
  if (ms <= 0) return "Time is up";
  const s = Math.ceil(ms / 1000);
  if (s < 60) return `${s} s left`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${String(s % 60).padStart(2, "0")} s left`;
  const h = Math.floor(min / 60);
  if (h < 48) return `${h} h ${String(min % 60).padStart(2, "0")} min left`;
  return `${Math.floor(h / 24)} days left`;
}

/** A group or a reviewer, as a requirement names them. */
function nameOf(selector) {
  return selector.startsWith("group:")
    ? `group ${selector.slice("group:".length)}`
    : selector.replace(/^reviewer:/, "");
}

function anyOf(set) {
  return set.map(nameOf).join(" or ");
}

/** Who is asked, and how many. */
export function whoIsAsked({ from, quorum, quorums, exclude, bots }) {
  const several = `${quorum} different reviewers`;
  let who;
  if (from.length === 0) who = quorum === 1 ? "Any one reviewer" : several;
  else if (from.length === 1) who = `${quorum === 1 ? "One" : quorum} of ${anyOf(from[0])}`;
  else {
    const each = from.map((set, index) => `${quorums?.[index] ?? 1} of ${anyOf(set)}`);
    who = `${quorum > 1 ? `${several}: ` : ""}${each.join(", and ")}`;
  }
  const owner = exclude.includes("owner") ? "; not the owner of the instance" : "";
  return `${who}${owner}${bots ? "; bots count" : ""}`;
}

/** What has to come with an approval; empty when a click does. */
export function whatIsNeeded({ confirm, note }) {
  const parts = [
    note === "required" ? "a note" : "",
    confirm.kind === "type" || confirm.kind === "match" ? "a few typed characters" : "",
    confirm.kind === "passkey" ? "a passkey" : "",
  ];
  return parts.filter((part) => part !== "").join(" and ");
}

/** Whether one approval may not be enough. */
export function takesVotes({ from, quorum }) {
  return quorum > 1 || from.length > 1;
}

/** "1 of 2 approvals": empty where the first one decides. */
export function countVotes({ requirement, votes }) {
  if (!takesVotes(requirement)) return "";
  const { quorum } = requirement;
  const count = votes.length;
  if (quorum > 1) return `${count} of ${quorum} approvals`;
  return count === 1 ? "1 approval so far" : `${count} approvals so far`;
}

/** What an approval that was kept still waits for. */
export function stillMissing({ requirement, votes }) {
  const { quorum, from, quorums } = requirement;
  const more = quorum - votes.length;
  if (more > 0) {
    const people = more === 1 ? "1 more person" : `${more} more people`;
    const whose = from.length === 1 ? ` of ${anyOf(from[0])}` : "";
    return `${people}${whose} must approve.`;
  }
  const each = from.map((set, index) => `${quorums?.[index] ?? 1} of ${anyOf(set)}`);
  return `Somebody else must approve too: it takes ${each.join(", and ")}.`;
}

const DONE = {
  approved: "Approved",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

/**
 * How a request ended and by whom.
 *
 * @param {string} [me] name of the reviewer who looks
 */
export function outcomeOf({ status, decided_by: by = "", decider }, me) {
  const done = DONE[status] ?? status;
  if (decider !== undefined) return decider === me ? `${done} by you` : `${done} by ${decider}`;
  const [kind, ...rest] = by.split(":");
  if (by === "system:deadline") return `${done}: nobody decided in time`;
  if (by === "system:instance-deletion") return `${done}: its instance was deleted`;
  if (kind === "policy") return `${done} by policy: ${rest.join(":")}`;
  const whom = {
    instance: "by the agent",
    grant: "by a standing grant",
    freeze: "by a freeze",
    reviewer: "by a reviewer",
  };
  return whom[kind] === undefined ? done : `${done} ${whom[kind]}`;
}
