import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Random } from "../clock.ts";
import type { Context } from "../context.ts";
import { assertGroups, toGroups } from "../core/groups.ts";
import type { Actor } from "../core/request.ts";
import type { ReviewerRole } from "../core/roles.ts";
import { createToken as drawToken, hashToken } from "../secrets/token.ts";
import { insertCredential } from "../storage/sql/credentials.ts";
import {
  ensureProject,
  ensureProvisioner,
  ensureReviewer,
  type StoredReviewer,
} from "../storage/sql/holders.ts";
import type { Transaction } from "../storage/store.ts";

export interface TokenOrder {
  readonly kind: "provisioner" | "reviewer";
  /** Whose token it is. A second token for the same name is for rotation. */
  readonly name: string;
  readonly project: string;
  /**
   * Of a reviewer: `reviewer` for a new one when undefined. A second token does not change it, see
   * setReviewer.
   */
  readonly role?: ReviewerRole | undefined;
  /** As the role; a new reviewer is in none when undefined. */
  readonly groups?: readonly string[] | undefined;
  /** Epoch ms; null never expires. */
  readonly expiresAt: number | null;
}

export interface IssuedToken {
  readonly id: string;
  /** Shown once; only its hash is stored. */
  readonly token: string;
}

/**
 * Issues a token to a provisioner or reviewer, making them and their project if they are new.
 *
 * @throws Problem `invalid_request` when the reviewer exists with another role or other groups, or
 *   a group has no proper name
 */
export async function createToken(context: Context, order: TokenOrder): Promise<IssuedToken> {
  const { random } = context;
  assertGroups(order.groups ?? []);
  const token = drawToken(order.kind, random);
  return context.store.transact(async (tx) => {
    const now = await tx.now();
    const id = uuidV7(now, random.bytes(10));
    const projectId = await ensureProject(tx, order.project, newProjectId(random), now);
    const holderId = await ensureHolder(tx, context, order, projectId, now);
    await insertCredential(
      tx,
      {
        id,
        kind: order.kind,
        holderId,
        projectId,
        createdAt: now,
        expiresAt: order.expiresAt,
        revokedAt: null,
        scopes: null,
      },
      hashToken(token),
    );
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "credential.issued",
      actor: OPERATOR,
      subject: `credential:${id}`,
      detail: { kind: order.kind, holder_id: holderId, expires_at: order.expiresAt },
    });
    return { id, token };
  });
}

/** Short, because it stands in front of every key: docs/decisions/0011. */
export function newProjectId(random: Random): string {
  return Buffer.from(random.bytes(PROJECT_ID_BYTES)).toString("hex");
}

/** The primary key would refuse a second one, not mix two projects up. */
const PROJECT_ID_BYTES = 8;

const OPERATOR: Actor = "operator:cli";

async function ensureHolder(
  tx: Transaction,
  { random }: Context,
  { kind, name, role, groups }: TokenOrder,
  projectId: string,
  now: number,
): Promise<string> {
  const newId = uuidV7(now, random.bytes(10));
  const entry = { at: now, projectId, actor: OPERATOR };
  if (kind === "provisioner") {
    const id = await ensureProvisioner(tx, projectId, name, newId, now);
    const subject = `provisioner:${id}`;
    if (id === newId) {
      await appendAudit(tx, random, { ...entry, kind: "provisioner.created", subject });
    }
    return id;
  }
  const order = {
    ...{ id: newId, name, role: role ?? "reviewer", groups: toGroups(groups ?? []) },
    ...{ isBot: false, personId: null },
  };
  const reviewer = await ensureReviewer(tx, projectId, order, now);
  if (reviewer.id !== newId) {
    assertUnchanged(reviewer, { role, groups });
    return reviewer.id;
  }
  const subject = `reviewer:${newId}`;
  const detail = { role: order.role, groups: order.groups };
  await appendAudit(tx, random, { ...entry, kind: "reviewer.created", subject, detail });
  return newId;
}

/** @throws Problem `invalid_request` when the order says otherwise than the reviewer is */
function assertUnchanged(
  reviewer: StoredReviewer,
  { role, groups }: Pick<TokenOrder, "role" | "groups">,
): void {
  const { name } = reviewer;
  const hint = `change that with countersign reviewers set`;
  if (role !== undefined && role !== reviewer.role) {
    const message = `The reviewer ${name} has the role ${reviewer.role}; ${hint}.`;
    throw new Problem("invalid_request", message, { param: "role" });
  }
  const kept = reviewer.groups.join(", ");
  if (groups !== undefined && toGroups(groups).join(", ") !== kept) {
    const where = kept === "" ? "in no group" : `in the groups ${kept}`;
    const message = `The reviewer ${name} is ${where}; ${hint}.`;
    throw new Problem("invalid_request", message, { param: "groups" });
  }
}
