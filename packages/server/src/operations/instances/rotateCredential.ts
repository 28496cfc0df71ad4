import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { createToken } from "../../secrets/token.ts";
import { issueCredential } from "../../steps/instances/issueCredential.ts";
import { lockAdministered } from "../../steps/instances/lockAdministered.ts";
import { expireCredentialsOf, revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";

export interface RotatedCredential {
  /** Displayed once. */
  readonly token: string;
  /** When the last of the earlier credentials expires, epoch ms. */
  readonly earlierUntil: number;
}

/**
 * Creates another credential of an instance, for an admin of the project.
 *
 * @param overlapMs how long the earlier credentials stay valid; 0 revokes them immediately
 * @throws Problem `forbidden`, `stale_sign_in`, `not_found`
 */
export async function rotateCredential(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  instanceId: string,
  overlapMs: number,
): Promise<RotatedCredential> {
  assertMay(caller, "people");
  return store.transact(async (tx) => {
    const { id: holderId, projectId } = await lockAdministered(
      tx,
      caller,
      instanceId,
      "create the credential",
    );
    const createdAt = await tx.now();
    const earlierUntil = createdAt + overlapMs;
    if (overlapMs === 0) await revokeCredentialsOf(tx, holderId, createdAt);
    else await expireCredentialsOf(tx, holderId, earlierUntil);
    const token = createToken("instance", random);
    const order = { instanceId: holderId, projectId, createdAt, expiresAt: null };
    await issueCredential(tx, { random }, order, token, {
      kind: "instance.credential_rotated",
      actor: `reviewer:${caller.reviewerId}`,
      detail: { earlier_until: earlierUntil },
    });
    return { token, earlierUntil };
  });
}
