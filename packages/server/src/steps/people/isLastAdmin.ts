import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { PersonsReviewer } from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { doPeopleRemain } from "./assertPeopleRemain.ts";

/**
 * Whether a project loses its last reviewer who can manage its people when the reviewer loses the
 * role. The change is permitted, because a user who leaves must lose all power. After the commit,
 * the log contains a warning: only the operator can then appoint an admin.
 */
export async function isLastAdmin(
  tx: Transaction,
  { onLastAdminLost }: Pick<Context, "onLastAdminLost">,
  { id, projectId, projectName, removedAt }: PersonsReviewer,
  actor: Actor,
): Promise<boolean> {
  if (removedAt !== null) return false;
  const reviewer = await readReviewer(tx, { projectId, id });
  if (reviewer === undefined) return false;
  if (await doPeopleRemain(tx, projectId, reviewer, undefined)) return false;
  tx.onCommit(() => onLastAdminLost({ projectId, projectName, reviewerId: id, actor }));
  return true;
}
