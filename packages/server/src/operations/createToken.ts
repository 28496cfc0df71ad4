import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Random } from "../clock.ts";
import type { Context } from "../context.ts";
import type { Actor } from "../core/request.ts";
import type { ReviewerRole } from "../core/roles.ts";
import { createToken as drawToken, hashToken } from "../secrets/token.ts";
import { insertCredential } from "../storage/sql/credentials.ts";
import { ensureProject, ensureProvisioner, ensureReviewer } from "../storage/sql/holders.ts";
import type { Transaction } from "../storage/store.ts";

export interface TokenOrder {
  readonly kind: "provisioner" | "reviewer";
  /** Whose token it is. A second token for the same name is for rotation. */
  readonly name: string;
  readonly project: string;
  /** Of a reviewer; cannot change with a second token. */
  readonly role: ReviewerRole;
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
 * @throws Problem `invalid_request` when the reviewer exists with another role
 */
export async function createToken(context: Context, order: TokenOrder): Promise<IssuedToken> {
  const { random } = context;
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
function newProjectId(random: Random): string {
  return Buffer.from(random.bytes(PROJECT_ID_BYTES)).toString("hex");
}

/** The primary key would refuse a second one, not mix two projects up. */
const PROJECT_ID_BYTES = 8;

const OPERATOR: Actor = "operator:cli";

async function ensureHolder(
  tx: Transaction,
  { random }: Context,
  { kind, name, role }: TokenOrder,
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
  const reviewer = await ensureReviewer(tx, projectId, { id: newId, name, role, groups: [] }, now);
  if (reviewer.role !== role) {
    const message = `The reviewer ${name} has the role ${reviewer.role}.`;
    throw new Problem("invalid_request", message, { param: "role" });
  }
  if (reviewer.id === newId) {
    const subject = `reviewer:${newId}`;
    const detail = { role };
    await appendAudit(tx, random, { ...entry, kind: "reviewer.created", subject, detail });
  }
  return reviewer.id;
}
