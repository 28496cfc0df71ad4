import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  deleteOpenInvitation,
  type StoredInvitation,
} from "../../storage/sql/sign-in/invitations.ts";

/**
 * Revokes an unused link. A reviewer who used one is not affected.
 *
 * @throws Problem `forbidden`; `not_found` also when it was used
 */
export async function revokeInvitation(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
): Promise<StoredInvitation> {
  assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    const revoked = await deleteOpenInvitation(tx, projectId, id);
    if (revoked === undefined) throw new Problem("not_found");
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "invitation.revoked",
      actor: `reviewer:${reviewerId}`,
      subject: `invitation:${id}`,
    });
    return revoked;
  });
}
