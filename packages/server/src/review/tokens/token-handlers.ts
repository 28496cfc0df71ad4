/** Handlers of the tokens of reviewers, bots and provisioners. */

import { formatTimestamp } from "@countersign/protocol";
import type { Token, tokens, Writable } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
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
      const { reviewed, token } = await issueToken(context, caller, {
        name: body.name,
        role: body.role,
        groups: body.groups,
        scopes: body.scopes ?? null,
        lastsMs: body.expires_in,
      });
      request.subjectId = reviewed.credential.id;
      return { ...toWire(reviewed), token };
    },

    async revokeToken({ caller, path }) {
      await revokeProjectToken(context, caller, path.id);
      return undefined;
    },
  };
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
