import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";
import type { StoredPerson } from "../../storage/sql/people/people.ts";
import { listPersonsReviewers } from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { isLastAdmin } from "../people/isLastAdmin.ts";
import { writeAccess } from "../people/writeAccess.ts";

/**
 * Disables a user whose row is locked, and revokes their tokens: a user who returns must not return
 * with a token that another person may have found meanwhile. Also disables the last admin of a
 * project, whom only the operator can replace.
 */
export async function disableScimPerson(
  tx: Transaction,
  context: Pick<Context, "random" | "onLastAdminLost">,
  { tokenId }: ScimCaller,
  person: StoredPerson,
): Promise<void> {
  const actor = `scim:${tokenId}` as const;
  const reviewers = await listPersonsReviewers(tx, person.id);
  // A removed reviewer keeps its tokens, and a group can give the role back.
  for (const reviewer of reviewers) {
    const { id, projectId, projectName } = reviewer;
    // A disabled user has no power to lose.
    if (person.disabledAt === null && (await isLastAdmin(tx, context, reviewer, actor))) {
      await appendAudit(tx, context.random, {
        at: await tx.now(),
        projectId,
        kind: "reviewer.updated",
        actor,
        subject: `reviewer:${id}`,
        detail: { because: "the user is disabled", last_admin_of: projectName },
      });
    }
    const at = await tx.now();
    const revoked = await revokeCredentialsOf(tx, id, at);
    if (revoked === 0) continue;
    await appendAudit(tx, context.random, {
      at,
      projectId,
      kind: "credential.revoked",
      actor,
      subject: `reviewer:${id}`,
      detail: { tokens_revoked: revoked },
    });
  }
  await writeAccess(tx, context, person, true, actor);
}
