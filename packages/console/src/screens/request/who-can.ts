/** The reviewers whose approval a request still needs. Pure. */

import type { Reviewer } from "@countersign/review-api";
import { allows } from "@countersign/review-api/roles";
import type { Voted } from "../../requests/words.ts";

interface NamedVote {
  readonly reviewer: string;
}

export interface Needed extends Voted {
  readonly votes: readonly NamedVote[];
}

function matches(selector: string, { name, groups }: Reviewer): boolean {
  if (selector.startsWith("group:")) return groups.includes(selector.slice("group:".length));
  return selector === `reviewer:${name}`;
}

/** Other reviewers who may decide the request, as the requirement names them. */
export function whoCanReceive(
  { requirement }: Pick<Needed, "requirement">,
  reviewers: readonly Reviewer[],
  me?: string,
): readonly Reviewer[] {
  return reviewers
    .filter((one) => isNamed(requirement, one) && one.name !== me)
    .sort((a, b) => a.name.localeCompare(b.name));
}

function isNamed({ from, bots }: Needed["requirement"], reviewer: Reviewer): boolean {
  const { role, kind } = reviewer;
  if (!allows(role, "decide") || (!bots && kind !== "person")) return false;
  return from.length === 0 || from.some((set) => set.some((who) => matches(who, reviewer)));
}

/** The sets that still need an approval; all sets where any member can give a missing one. */
function openSets(
  { requirement: { from, quorum, quorums }, votes }: Needed,
  reviewers: readonly Reviewer[],
): Needed["requirement"]["from"] {
  const voters = reviewers.filter(({ name }) => votes.some(({ reviewer }) => reviewer === name));
  const missing = from.map((set, index) => {
    const given = voters.filter((voter) => set.some((who) => matches(who, voter))).length;
    return Math.max(0, (quorums?.[index] ?? 1) - given);
  });
  const ofSets = missing.reduce((sum, count) => sum + count, 0);
  if (ofSets === 0 || quorum - votes.length > ofSets) return from;
  return from.filter((_, index) => missing[index] !== 0);
}

export interface WhoCanApproveOptions {
  /** The signed-in reviewer; the result lists them first. */
  readonly me?: string | undefined;
  /** Name of the owner of the instance; null for no owner, undefined while it is not known. */
  readonly owner?: string | null | undefined;
}

/**
 * Names of the reviewers who can give a missing approval and have not approved yet. A requirement
 * without names is open to every reviewer of the project.
 */
export function whoCanApprove(
  needed: Needed,
  reviewers: readonly Reviewer[],
  { me, owner }: WhoCanApproveOptions = {},
): string[] {
  const { requirement, votes } = needed;
  const isOwnerExcluded = requirement.exclude.includes("owner");
  // Any reviewer could be an unknown owner, so the server accepts no approval.
  if (isOwnerExcluded && (owner ?? null) === null) return [];
  const open = { ...requirement, from: openSets(needed, reviewers) };
  const names = reviewers
    .filter((one) => isNamed(open, one))
    .map(({ name }) => name)
    .filter((name) => !(isOwnerExcluded && name === owner))
    .filter((name) => !votes.some(({ reviewer }) => reviewer === name));
  return names.sort((a, b) => Number(b === me) - Number(a === me) || a.localeCompare(b));
}
