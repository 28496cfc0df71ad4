/** Whether a project keeps a reviewer who can manage its people after a change. */

import { Problem } from "@countersign/protocol";
import { allows } from "../../core/roles.ts";
import { isPermitted } from "../../core/scopes.ts";
import { listReviewersOf, type StoredReviewer } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";
import { readActiveReviewers } from "../access/readActiveReviewers.ts";

/**
 * Whether a project keeps a reviewer who can manage its people, or has none before.
 *
 * @param after undefined: removed
 */
export async function doPeopleRemain(
  tx: Transaction,
  projectId: string,
  before: StoredReviewer,
  after: StoredReviewer | undefined,
): Promise<boolean> {
  const keepsIt = after !== undefined && allows(after.role, "people");
  if (keepsIt || !allows(before.role, "people")) return true;
  const others = (await listReviewersOf(tx, projectId)).filter(
    ({ id, role }) => id !== before.id && allows(role, "people"),
  );
  const ids = others.map(({ id }) => id);
  const reviewers = await readActiveReviewers(tx, projectId, ids, await tx.now());
  return reviewers.some(({ role, ways }) =>
    ways.some((scopes) => isPermitted({ role, scopes }, "people")),
  );
}

/**
 * As {@link doPeopleRemain}. Commands on the server and the identity provider do not check this.
 *
 * @throws Problem `forbidden`
 */
export async function assertPeopleRemain(
  tx: Transaction,
  projectId: string,
  before: StoredReviewer,
  after: StoredReviewer | undefined,
): Promise<void> {
  if (await doPeopleRemain(tx, projectId, before, after)) return;
  const message =
    `${before.name} is the last reviewer who can manage the people of this project. ` +
    "Make another person an admin first, or run `countersign reviewers` on the server.";
  throw new Problem("forbidden", message);
}
