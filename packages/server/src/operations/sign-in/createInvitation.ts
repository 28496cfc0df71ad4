import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { invitationRefusal } from "../../core/delegation.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import { parsePersonName } from "../../core/login.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { generateOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { lockReviewerByName, type StoredReviewer } from "../../storage/sql/access/holders.ts";
import {
  countOpenInvitations,
  insertInvitation,
  type StoredInvitation,
} from "../../storage/sql/sign-in/invitations.ts";
import type { Transaction } from "../../storage/store.ts";

export interface InvitationOrder {
  /** Name of the future reviewer, or of one with tokens only. */
  readonly name: string;
  /** `reviewer` for a new reviewer when undefined. */
  readonly role: ReviewerRole | undefined;
  /** Empty for a new reviewer when undefined. */
  readonly groups: readonly string[] | undefined;
  readonly lastsMs: number;
}

export interface CreatedInvitation {
  readonly invitation: StoredInvitation;
  /** Displayed once, in a link; only its hash is stored. */
  readonly token: string;
}

/** Maximum open invitations of a project. */
const OPEN_MAX = 200;

/**
 * Creates an invitation to become a reviewer of the caller's project.
 *
 * @throws Problem `forbidden`, also for a role above the caller's own; `invalid_request` naming
 *   the field
 */
export async function createInvitation(
  context: Context,
  caller: ReviewerCaller,
  order: InvitationOrder,
): Promise<CreatedInvitation> {
  assertMay(caller, "people");
  const { projectId } = caller;
  const name = parsePersonName(order.name);
  assertGroups(order.groups ?? []);
  const { random } = context;
  const token = generateOpaque(random);
  return context.store.transact(async (tx) => {
    const inviter = await currentCaller(tx, caller);
    assertMay(inviter, "people");
    const known = await assertInvitable(tx, projectId, name);
    const role = order.role ?? known?.role ?? "reviewer";
    const groups = toGroups(order.groups ?? known?.groups ?? []);
    // As for a new reviewer: the user of the link becomes this reviewer.
    const refusal = invitationRefusal(inviter, { role, groups });
    if (refusal !== undefined) throw new Problem("forbidden", refusal);
    if (known !== undefined) assertSame(known, role, groups);
    const now = await tx.now();
    if (caller.session !== null) assertFresh(caller.session, now, "create the invitation");
    if ((await countOpenInvitations(tx, projectId, now)) >= OPEN_MAX) {
      const count = `The project has ${OPEN_MAX} open invitations`;
      const message = `${count}, which is the maximum. Revoke one first.`;
      throw new Problem("invalid_request", message);
    }
    const invitation = {
      id: uuidV7(now, random.bytes(10)),
      projectId,
      personId: null,
      name,
      role,
      groups,
      createdAt: now,
      createdBy: `reviewer:${caller.reviewerId}` as const,
      expiresAt: now + order.lastsMs,
      usedAt: null,
    };
    await insertInvitation(tx, invitation, hashToken(token));
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "invitation.made",
      actor: invitation.createdBy,
      subject: `invitation:${invitation.id}`,
      detail: { name, role, groups, expires_at: invitation.expiresAt },
    });
    return { invitation, token };
  });
}

/** @returns the existing reviewer with tokens only; undefined when the name is free */
async function assertInvitable(
  tx: Transaction,
  projectId: string,
  name: string,
): Promise<StoredReviewer | undefined> {
  const known = await lockReviewerByName(tx, projectId, name);
  if (known === undefined) return undefined;
  if (known.isBot || known.personId !== null || known.removedAt !== null) {
    throw invalidField(
      "name",
      "is the name of a reviewer who cannot be invited: choose another one",
    );
  }
  return known;
}

/** For an existing reviewer, an invitation only adds a sign-in method. */
function assertSame(known: StoredReviewer, role: ReviewerRole, groups: readonly string[]): void {
  if (role !== known.role) {
    throw invalidField("role", `is ${known.role} for this reviewer; change it first`);
  }
  if (groups.join() !== toGroups(known.groups).join()) {
    throw invalidField("groups", "differ from those of this reviewer; change them first");
  }
}
