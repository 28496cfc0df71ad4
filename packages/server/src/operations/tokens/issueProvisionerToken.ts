import type { Context } from "../../context.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { endOfToken } from "../../steps/tokens/endOfToken.ts";
import { ensureProvisionerAs } from "../../steps/tokens/ensureProvisionerAs.ts";
import { writeToken } from "../../steps/tokens/writeToken.ts";
import { lockProject } from "../../storage/sql/access/holders.ts";
import type { ReviewedToken } from "./listProjectTokens.ts";

/**
 * Issues a token to a provisioner of the caller's project, which is created if it is missing. Its
 * permissions are those of the power `people`: create, change and delete instances. It expires
 * with the caller's token at the latest.
 *
 * @param order `lastsMs` undefined: expires with the caller's own token
 * @throws Problem `forbidden`
 */
export async function issueProvisionerToken(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  { name, lastsMs }: { readonly name: string; readonly lastsMs: number | undefined },
): Promise<{ readonly reviewed: ReviewedToken; readonly token: string }> {
  assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    await lockProject(tx, projectId);
    const delegator = await currentCaller(tx, caller);
    assertMay(delegator, "people");
    const createdAt = await tx.now();
    if (caller.session !== null) assertFresh(caller.session, createdAt, "create the token");
    const actor = `reviewer:${reviewerId}` as const;
    const holderId = await ensureProvisionerAs(tx, random, { projectId, name }, actor);
    const credential = {
      kind: "provisioner" as const,
      holderId,
      projectId,
      createdAt,
      expiresAt: endOfToken(delegator, lastsMs, createdAt),
      scopes: null,
    };
    const { id, token } = await writeToken(tx, random, credential, actor);
    return {
      reviewed: { credential: { ...credential, id, revokedAt: null }, holder: { name } },
      token,
    };
  });
}
