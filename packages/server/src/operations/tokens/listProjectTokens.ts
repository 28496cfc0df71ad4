import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  readLiveCredentials,
  type StoredCredential,
} from "../../storage/sql/access/credentials.ts";
import {
  listProvisionersOf,
  listReviewersOf,
  readReviewer,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import type { Reader } from "../../storage/store.ts";

/** A token, which itself is not stored. */
export interface ReviewedToken {
  readonly credential: StoredCredential;
  readonly holder: TokenHolder;
}

/** A provisioner has a name alone. */
export type TokenHolder = Pick<StoredReviewer, "name"> &
  Partial<Pick<StoredReviewer, "role" | "isBot">>;

/**
 * The tokens of the caller's project that are neither revoked nor expired, the oldest first; those
 * of instances are their own.
 *
 * @throws Problem `forbidden`
 */
export async function listProjectTokens(
  { store, clock }: Pick<Context, "store" | "clock">,
  caller: ReviewerCaller,
): Promise<readonly ReviewedToken[]> {
  assertMay(caller, "people");
  const { projectId } = caller;
  const holders = new Map<string, TokenHolder>([
    ...(await listProvisionersOf(store, projectId)).map(({ id, name }) => [id, { name }] as const),
    ...(await listReviewersOf(store, projectId)).map((one) => [one.id, one] as const),
  ]);
  const credentials = await readLiveCredentials(store, [...holders.keys()], clock.now());
  return credentials.flatMap((credential) => {
    const holder = holders.get(credential.holderId);
    return holder === undefined ? [] : [{ credential, holder }];
  });
}

/** @throws Problem `not_found` when its holder is nobody of the caller's project */
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
