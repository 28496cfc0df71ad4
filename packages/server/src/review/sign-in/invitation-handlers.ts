/** Handlers of invitations. */

import { formatTimestamp } from "@countersign/protocol";
import {
  INVITATION_LASTS_MS,
  type Invitation,
  type invitations,
  type Writable,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import {
  type CreatedInvitation,
  createInvitation,
} from "../../operations/sign-in/createInvitation.ts";
import { listInvitations } from "../../operations/sign-in/listInvitations.ts";
import { revokeInvitation } from "../../operations/sign-in/revokeInvitation.ts";

/** @param publicUrl base URL of this server */
export function invitationHandlers(
  context: Context,
  publicUrl: () => string,
): Handlers<typeof invitations> {
  const now = () => context.clock.now();
  return {
    async listInvitations({ caller }) {
      const listed = await listInvitations(context, caller);
      return { invitations: listed.map((invitation) => toWire(invitation, now())) };
    },

    async createInvitation({ caller, body: { name, role, groups, lasts }, request }) {
      const lastsMs = lasts ?? INVITATION_LASTS_MS.default;
      const order = { name, role, groups, lastsMs };
      const { invitation, token } = await createInvitation(context, caller, order);
      request.subjectId = invitation.id;
      return { ...toWire(invitation, now()), url: `${publicUrl()}/invitation#${token}` };
    },

    async revokeInvitation({ caller, path: { id } }) {
      await revokeInvitation(context, caller, id);
      return { revoked: id };
    },
  };
}

/** @param now the server's time, in milliseconds since 1970 */
function toWire(invitation: CreatedInvitation["invitation"], now: number): Writable<Invitation> {
  const { id, name, role, groups, createdAt, createdBy, expiresAt, usedAt } = invitation;
  const unused = now < expiresAt ? "open" : "expired";
  return {
    id,
    state: usedAt === null ? unused : "used",
    name,
    role,
    groups,
    created_at: formatTimestamp(createdAt),
    created_by: createdBy,
    expires_at: formatTimestamp(expiresAt),
    used_at: usedAt === null ? undefined : formatTimestamp(usedAt),
  };
}
