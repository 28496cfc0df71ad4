import { Problem } from "@countersign/protocol";
import { readReviewerByName } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * The id of the instance's future owner.
 *
 * @throws Problem `invalid_request` when the project has no such reviewer
 */
export async function ownerIdOf(
  tx: Transaction,
  projectId: string,
  name: string | null,
): Promise<string | null> {
  if (name === null) return null;
  const reviewer = await readReviewerByName(tx, projectId, name);
  if (reviewer === undefined || reviewer.removedAt !== null) {
    const message = "owner must be the name of a reviewer of this project.";
    throw new Problem("invalid_request", message, { param: "owner" });
  }
  return reviewer.id;
}
