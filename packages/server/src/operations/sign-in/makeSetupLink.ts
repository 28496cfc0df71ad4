/** Creates the link for the first user of a server. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { makeLink } from "../../steps/sign-in/makeLink.ts";
import { newProjectId } from "../../steps/tokens/newProjectId.ts";
import { ensureProject } from "../../storage/sql/access/holders.ts";
import { hasPerson } from "../../storage/sql/people/people.ts";
import { deleteOpenInvitationsBy } from "../../storage/sql/sign-in/invitations.ts";

/** True when no account exists. */
export async function needsSetup({ store }: Pick<Context, "store">): Promise<boolean> {
  return !(await hasPerson(store));
}

/**
 * Creates the link for the first user, who becomes operator. Revokes an earlier one.
 *
 * @param project created if it does not exist
 * @returns the token of the link
 * @throws Problem `forbidden` when an account exists: setup cannot bypass existing accounts
 */
export async function makeSetupLink(
  { store, random }: Pick<Context, "store" | "random">,
  project: string,
): Promise<string> {
  return store.transact(async (tx) => {
    if (await hasPerson(tx)) {
      const message = "Accounts already exist. Ask a reviewer for an invitation.";
      throw new Problem("forbidden", message);
    }
    const projectId = await ensureProject(tx, project, newProjectId(random), await tx.now());
    const replaced = await deleteOpenInvitationsBy(tx, "system:setup");
    const createdBy = "system:setup";
    const who = { projectId, personId: null, name: "", role: "operator", createdBy } as const;
    return makeLink(tx, { random }, who, replaced);
  });
}
