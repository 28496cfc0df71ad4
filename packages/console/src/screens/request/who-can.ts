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

/**
 * Names of the reviewers who can give a missing approval and have not approved yet. A requirement
 * without names is open to every reviewer of the project.
 *
 * @param me the signed-in reviewer; the result lists them first
 */
export function whoCanApprove(
  { requirement, votes }: Needed,
  reviewers: readonly Reviewer[],
  me?: string,
): string[] {
  const names = reviewers
    .filter((one) => isNamed(requirement, one))
    .map(({ name }) => name)
    .filter((name) => !votes.some(({ reviewer }) => reviewer === name));
  return names.sort((a, b) => Number(b === me) - Number(a === me) || a.localeCompare(b));
}
