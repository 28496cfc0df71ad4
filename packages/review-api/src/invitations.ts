/** Invitations: links with which a user becomes a reviewer. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { REVIEWER_ROLES } from "./roles.ts";
import { actor, anyText, body, duration, groupNames, id, timestamp, word } from "./schema.ts";

const HOUR_MS = 3_600_000;

/** How long an invitation can be used. */
export const INVITATION_LASTS_MS = { default: 72 * HOUR_MS, max: 720 * HOUR_MS };

export const invitation = v.object({
  id,
  state: v.picklist(["open", "used", "expired"]),
  /** Of the future reviewer; empty where the user chooses it. */
  name: v.string(),
  role: v.picklist(REVIEWER_ROLES),
  groups: v.array(v.string()),
  created_at: timestamp,
  created_by: actor,
  expires_at: timestamp,
  used_at: v.optional(timestamp),
});

export type Invitation = v.InferOutput<typeof invitation>;

export const invitations = {
  listInvitations: operation({
    method: "GET",
    path: "/invitations",
    summary: "List the invitations of the project, the latest first, at most 500.",
    caller: "reviewer",
    power: "people",
    answers: { 200: v.object({ invitations: v.array(invitation) }) },
    errors: ["forbidden"],
  }),

  createInvitation: operation({
    method: "POST",
    path: "/invitations",
    summary: "Create an invitation.",
    caller: "reviewer",
    power: "people",
    fresh: true,
    body: body({
      name: anyText,
      role: v.optional(word(REVIEWER_ROLES)),
      groups: v.optional(groupNames),
      lasts: v.optional(duration(0, INVITATION_LASTS_MS.max)),
    }),
    /** The link is displayed once. */
    answers: { 201: v.object({ ...invitation.entries, url: v.string() }) },
    errors: ["forbidden"],
  }),

  revokeInvitation: operation({
    method: "DELETE",
    path: "/invitations/{id}",
    summary: "Revoke an unused invitation.",
    caller: "reviewer",
    power: "people",
    answers: { 200: v.object({ revoked: id }) },
    errors: ["forbidden", "not_found"],
  }),
};
