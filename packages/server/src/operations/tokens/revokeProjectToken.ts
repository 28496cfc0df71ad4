import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { isAbove, roleAboveMessage } from "../../core/delegation.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { holderOfToken } from "../../steps/tokens/holderOfToken.ts";
import { lockCredential, revokeCredential } from "../../storage/sql/access/credentials.ts";
import { lockProject } from "../../storage/sql/access/holders.ts";
import type { ReviewedToken } from "./listProjectTokens.ts";

/**
 * Revokes a token of the caller's project at once, possibly the caller's own. Repeating it changes
 * nothing.
 *
 * @throws Problem `forbidden`, also for the token of a role above the caller's; `not_found` outside
 * the project and for the credential of an instance, which is revoked with the instance
 */
export async function revokeProjectToken(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
): Promise<ReviewedToken> {
  assertMay(caller, "people");
  return store.transact(async (tx) => {
    await lockProject(tx, caller.projectId);
    const current = await currentCaller(tx, caller);
    assertMay(current, "people");
    const credential = await lockCredential(tx, "update", id);
    const isOther = credential?.projectId !== caller.projectId || credential.kind === "instance";
    if (credential === undefined || isOther) throw new Problem("not_found");
    const holder = await holderOfToken(tx, caller, credential);
    if (holder.role !== undefined && isAbove(holder.role, current.role)) {
      throw new Problem("forbidden", roleAboveMessage(holder.role));
    }
    if (credential.revokedAt !== null) return { credential, holder };
    const revokedAt = await tx.now();
    await revokeCredential(tx, id, revokedAt);
    await appendAudit(tx, random, {
      at: revokedAt,
      projectId: caller.projectId,
      kind: "credential.revoked",
      actor: `reviewer:${caller.reviewerId}`,
      subject: `credential:${id}`,
    });
    return { credential: { ...credential, revokedAt }, holder };
  });
}
