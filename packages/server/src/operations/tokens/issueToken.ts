import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { roleRefusal, tokenRefusal } from "../../core/delegation.ts";
import { assertGroups } from "../../core/groups.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { type Scopes, toScopes } from "../../core/scopes.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type CurrentCaller, currentCaller } from "../../steps/access/currentCaller.ts";
import { ensureReviewerAs } from "../../steps/people/ensureReviewerAs.ts";
import { assertScopes } from "../../steps/tokens/assertScopes.ts";
import { endOfToken } from "../../steps/tokens/endOfToken.ts";
import { writeToken } from "../../steps/tokens/writeToken.ts";
import type { StoredReviewer } from "../../storage/sql/access/holders.ts";
import { lockProject, readReviewer, readReviewerByName } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";
import type { ReviewedToken } from "./listProjectTokens.ts";

export interface OwnTokenOrder {
  /** Name of a bot, created if missing; undefined: the caller's own token. */
  readonly name: string | undefined;
  /** For a new bot: `reviewer` when undefined. */
  readonly role: ReviewerRole | undefined;
  /** For a new bot. */
  readonly groups: readonly string[] | undefined;
  readonly scopes: Scopes;
  /** Undefined: expires with the caller's own token. */
  readonly lastsMs: number | undefined;
}

/**
 * Issues a token over HTTP: to the caller, or to a bot of the caller's project. A token has at most
 * its issuer's powers and lifetime. No caller can issue a token for another person, because one
 * person would then count as two.
 *
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function issueToken(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  order: OwnTokenOrder,
): Promise<{ readonly reviewed: ReviewedToken; readonly token: string }> {
  assertMay(caller, "people");
  assertGroups(order.groups ?? []);
  assertScopes(order.scopes);
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    await lockProject(tx, projectId);
    const delegator = await currentCaller(tx, caller);
    assertMay(delegator, "people");
    const holder = await holderOf(tx, random, delegator, order);
    const { role } = holder;
    const scopes = order.scopes && toScopes(order.scopes);
    const refusal = tokenRefusal(delegator, { role, scopes });
    if (refusal !== undefined) throw new Problem("forbidden", refusal);
    const createdAt = await tx.now();
    if (caller.session !== null) assertFresh(caller.session, createdAt, "create the token");
    const expiresAt = endOfToken(delegator, order.lastsMs, createdAt);
    const credential = {
      kind: "reviewer" as const,
      holderId: holder.id,
      projectId,
      createdAt,
      expiresAt,
      scopes,
    };
    const { id, token } = await writeToken(tx, random, credential, `reviewer:${reviewerId}`);
    const { name, isBot } = holder;
    const stored = { ...credential, id, revokedAt: null };
    return { reviewed: { credential: stored, holder: { name, role, isBot } }, token };
  });
}

/** @throws Problem `forbidden`, `invalid_request` */
async function holderOf(
  tx: Transaction,
  random: Context["random"],
  delegator: CurrentCaller,
  { name, role, groups }: OwnTokenOrder,
): Promise<StoredReviewer> {
  const { projectId, reviewerId } = delegator;
  if (name === undefined || name === delegator.name) {
    if (role !== undefined || groups !== undefined) {
      const message = "role and groups apply to new bots only. Omit them for your own token.";
      throw new Problem("invalid_request", message, {
        param: role === undefined ? "groups" : "role",
      });
    }
    const own = await readReviewer(tx, { projectId, id: reviewerId });
    if (own === undefined) throw new Problem("invalid_credential");
    return own;
  }
  const known = await readReviewerByName(tx, projectId, name);
  if (known !== undefined && !known.isBot) {
    const message = `The reviewer ${name} is a person. Only that person can create tokens for it.`;
    throw new Problem("forbidden", message);
  }
  const authorization = { role: role ?? "reviewer", groups: groups ?? [] } as const;
  const refusal = known === undefined ? roleRefusal(delegator, authorization) : undefined;
  if (refusal !== undefined) throw new Problem("forbidden", refusal);
  const order = { projectId, name, role, groups, isBot: true };
  return ensureReviewerAs(tx, random, order, `reviewer:${reviewerId}`);
}
