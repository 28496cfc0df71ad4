/** Handlers of the tokens of reviewers, bots and provisioners. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import type { BodyReceived, Token, tokens, Writable } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { issueProvisionerToken } from "../../operations/tokens/issueProvisionerToken.ts";
import { issueToken } from "../../operations/tokens/issueToken.ts";
import {
  listProjectTokens,
  type ReviewedToken,
} from "../../operations/tokens/listProjectTokens.ts";
import { revokeProjectToken } from "../../operations/tokens/revokeProjectToken.ts";

export function tokenHandlers(context: Context): Handlers<typeof tokens> {
  return {
    async listTokens({ caller }) {
      return { tokens: (await listProjectTokens(context, caller)).map(toWire) };
    },

    async issueToken({ caller, body, request }) {
      const { reviewed, token } = await (body.kind === "provisioner"
        ? issueProvisionerToken(context, caller, provisionerOf(body))
        : issueToken(context, caller, {
            name: body.name,
            role: body.role,
            groups: body.groups,
            scopes: body.scopes ?? null,
            lastsMs: body.expires_in,
          }));
      request.subjectId = reviewed.credential.id;
      return { ...toWire(reviewed), token };
    },

    async revokeToken({ caller, path }) {
      await revokeProjectToken(context, caller, path.id);
      return undefined;
    },
  };
}

/** @throws Problem `invalid_request` naming the field */
function provisionerOf(body: BodyReceived<typeof tokens.issueToken>) {
  const { name, role, groups, scopes, expires_in: lastsMs } = body;
  if (name === undefined) throw invalidField("name", "is required for a provisioner");
  for (const [field, value] of Object.entries({ role, groups, scopes: scopes ?? undefined })) {
    if (value !== undefined) throw invalidField(field, "does not apply to a provisioner");
  }
  return { name, lastsMs };
}

function toWire({ credential, holder }: ReviewedToken): Writable<Token> {
  const { id, kind, holderId, scopes, createdAt, expiresAt } = credential;
  const { name, role, isBot } = holder;
  return {
    id,
    kind: kind === "reviewer" ? kind : "provisioner",
    holder: {
      id: holderId,
      name,
      kind: isBot === undefined ? undefined : isBot ? "bot" : "person",
      role,
    },
    scopes,
    created_at: formatTimestamp(createdAt),
    expires_at: expiresAt === null ? null : formatTimestamp(expiresAt),
  };
}
