import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readReviewer } from "../storage/sql/holders.ts";
import type { ProposalOutline } from "../storage/sql/policy-proposals.ts";
import { readTwoPerson } from "../storage/sql/policy-versions.ts";
import type { Reader } from "../storage/store.ts";

/**
 * Why somebody may not publish a proposal, though they may publish policy: where it takes two
 * people they wrote it, with whatever token or session, or they are no person at all.
 *
 * @returns a sentence for them; undefined when they may
 */
export async function refusalToPublish(
  reader: Reader,
  caller: ReviewerCaller,
  proposal: ProposalOutline,
): Promise<string | undefined> {
  if (!(await readTwoPerson(reader, proposal.projectId))) return undefined;
  if (caller.isBot) {
    return "This policy takes two people, and a bot is none: a person must publish the proposal.";
  }
  return (await isAuthor(reader, caller, proposal))
    ? "You proposed this, and this policy takes two people: another person must publish it."
    : undefined;
}

/** @throws Problem `forbidden` */
export async function assertOtherPerson(
  reader: Reader,
  caller: ReviewerCaller,
  proposal: ProposalOutline,
): Promise<void> {
  const refusal = await refusalToPublish(reader, caller, proposal);
  if (refusal !== undefined) throw new Problem("forbidden", refusal);
}

/** The same reviewer; or the same person, as a reviewer of before or of another project. */
async function isAuthor(
  reader: Reader,
  { reviewerId, personId }: ReviewerCaller,
  { proposedBy, proposerProjectId }: ProposalOutline,
): Promise<boolean> {
  const id = proposedBy.slice("reviewer:".length);
  if (id === reviewerId) return true;
  if (personId === null) return false;
  const author = await readReviewer(reader, { projectId: proposerProjectId, id });
  return author?.personId === personId;
}
