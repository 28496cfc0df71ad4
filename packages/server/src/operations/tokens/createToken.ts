import type { Random } from "../../clock.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { assertGroups } from "../../core/groups.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { type Scopes, toScopes } from "../../core/scopes.ts";
import { ensureReviewerAs } from "../../steps/people/ensureReviewerAs.ts";
import { assertScopes } from "../../steps/tokens/assertScopes.ts";
import { ensureProvisionerAs } from "../../steps/tokens/ensureProvisionerAs.ts";
import { newProjectId } from "../../steps/tokens/newProjectId.ts";
import { type IssuedToken, writeToken } from "../../steps/tokens/writeToken.ts";
import { ensureProject } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

export interface TokenOrder {
  readonly kind: "provisioner" | "reviewer";
  /** Name of the holder. A second token for the same name permits rotation. */
  readonly name: string;
  readonly project: string;
  /**
   * Of a reviewer: `reviewer` for a new one when undefined. A second token does not change it; see
   * setReviewer.
   */
  readonly role?: ReviewerRole | undefined;
  /** As the role; empty for a new reviewer when undefined. */
  readonly groups?: readonly string[] | undefined;
  /** True for a new bot; undefined: a person. */
  readonly isBot?: boolean | undefined;
  /** Scopes of a reviewer's token; undefined: all powers of the holder. */
  readonly scopes?: Scopes | undefined;
  /** Epoch ms; null never expires. */
  readonly expiresAt: number | null;
}

/**
 * Issues a token to a provisioner or reviewer. Creates a missing holder or project.
 *
 * @throws Problem `invalid_request` when the reviewer exists with another role, other groups or as
 * a person instead of a bot, or was removed; and for an invalid group name or scope
 */
export async function createToken(context: Context, order: TokenOrder): Promise<IssuedToken> {
  const { random } = context;
  const { kind, scopes = null, expiresAt } = order;
  assertGroups(order.groups ?? []);
  assertScopes(scopes);
  return context.store.transact(async (tx) => {
    const createdAt = await tx.now();
    const projectId = await ensureProject(tx, order.project, newProjectId(random), createdAt);
    const holderId = await ensureHolder(tx, random, order, projectId);
    const credential = {
      kind,
      holderId,
      projectId,
      createdAt,
      expiresAt,
      scopes: scopes && toScopes(scopes),
    };
    return writeToken(tx, random, credential, OPERATOR);
  });
}

const OPERATOR: Actor = "operator:cli";

async function ensureHolder(
  tx: Transaction,
  random: Random,
  { kind, name, role, groups, isBot = false }: TokenOrder,
  projectId: string,
): Promise<string> {
  if (kind === "reviewer") {
    const order = { projectId, name, role, groups, isBot };
    return (await ensureReviewerAs(tx, random, order, OPERATOR)).id;
  }
  return ensureProvisionerAs(tx, random, { projectId, name }, OPERATOR);
}
