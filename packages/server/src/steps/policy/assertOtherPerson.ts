/** Enforces the two-person rule: the author and the publisher of a policy must differ. */

import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { ProposalOutline } from "../../storage/sql/policy/policy-proposals.ts";
import { readTwoPerson } from "../../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * Why the caller may not publish a proposal despite the power to publish. With the two-person rule,
 * author and publisher must differ, across all tokens and sessions. Bots count as neither, because
 * their creator has their token.
 *
 * @returns a sentence for the caller; undefined when permitted
 */
export async function refusalToPublish(
  reader: Reader,
  caller: ReviewerCaller,
  proposal: Pick<ProposalOutline, "projectId" | "proposedBy" | "proposerProjectId">,
): Promise<string | undefined> {
  if (!(await readTwoPerson(reader, proposal.projectId))) return undefined;
  if (caller.isBot) return NO_BOT;
  const { proposedBy, proposerProjectId: projectId } = proposal;
  const id = proposedBy.slice("reviewer:".length);
  const author = await readReviewer(reader, { projectId, id });
  if (author === undefined || author.isBot) return `${NO_BOT} Propose it yourself.`;
  // A user who rejoins is another reviewer, so it is unknown who this author was.
  if (author.removedAt !== null && author.personId === null) return AUTHOR_GONE;
  return id === caller.reviewerId || (author.personId ?? "") === caller.personId
    ? "Publishing this policy requires two people. Another person must publish your proposal."
    : undefined;
}

const AUTHOR_GONE =
  "Publishing requires two people, and the proposer is no longer a reviewer. Propose it yourself.";

const NO_BOT = "Publishing this policy requires two people; bots do not count.";

/** @throws Problem `forbidden` */
export async function assertOtherPerson(
  reader: Reader,
  caller: ReviewerCaller,
  proposal: ProposalOutline,
): Promise<void> {
  const refusal = await refusalToPublish(reader, caller, proposal);
  if (refusal !== undefined) throw new Problem("forbidden", refusal);
}

/**
 * Checks that the caller can be the author of a change with the two-person rule.
 *
 * @throws Problem `forbidden` for a bot
 */
export async function assertMayPropose(
  reader: Reader,
  { isBot }: ReviewerCaller,
  projectId: string,
): Promise<void> {
  if (isBot && (await readTwoPerson(reader, projectId))) throw new Problem("forbidden", NO_BOT);
}
