import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { StoredCredential } from "../../storage/sql/access/credentials.ts";
import {
  listProvisionersOf,
  readReviewer,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import type { Reader } from "../../storage/store.ts";

/** A provisioner has only a name. */
export type TokenHolder = Pick<StoredReviewer, "name"> &
  Partial<Pick<StoredReviewer, "role" | "isBot">>;

/**
 * Finds the holder of a token in the caller's project.
 *
 * @throws Problem `not_found` when the holder is not in the caller's project
 */
export async function holderOfToken(
  reader: Reader,
  { projectId }: Pick<ReviewerCaller, "projectId">,
  { holderId, kind }: StoredCredential,
): Promise<TokenHolder> {
  const holder =
    kind === "reviewer"
      ? await readReviewer(reader, { projectId, id: holderId })
      : (await listProvisionersOf(reader, projectId)).find(({ id }) => id === holderId);
  if (holder === undefined) throw new Problem("not_found");
  return holder;
}
