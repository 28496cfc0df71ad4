import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { TokenHolder } from "../../steps/tokens/holderOfToken.ts";
import {
  readLiveCredentials,
  type StoredCredential,
} from "../../storage/sql/access/credentials.ts";
import { listProvisionersOf, listReviewersOf } from "../../storage/sql/access/holders.ts";

/** A token in a listing. The token itself is not stored. */
export interface ReviewedToken {
  readonly credential: StoredCredential;
  readonly holder: TokenHolder;
}

/**
 * The active tokens of the caller's project, oldest first, without those of instances.
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
