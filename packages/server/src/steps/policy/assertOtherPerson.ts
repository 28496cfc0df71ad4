/** Checks the rule that a policy takes two people: an author and a publisher. */

import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { ProposalOutline } from "../../storage/sql/policy/policy-proposals.ts";
import { readTwoPerson } from "../../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * Why the caller may not publish a proposal despite the power to publish: where two people are
 * required, its author and its publisher must differ, across all tokens and sessions. A bot counts
 * as neither, because its creator has its token.
 *
 * @returns a sentence for the caller; undefined when the caller may
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
  // Who comes back is another reviewer, and nothing says any more whom this one was.
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
 * Checks that the caller can be the author of a change that requires two people.
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
