/** Handlers of the links of chat accounts. */

import { formatTimestamp } from "@countersign/protocol";
import type { ChatLink, chat } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import {
  createLinkCode,
  deleteChatLink,
  type ListedLink,
  listChatLinks,
} from "../../operations/chat/linkChatUser.ts";

export function chatHandlers(context: Context): Handlers<typeof chat> {
  return {
    async listChatLinks({ caller }) {
      return { links: (await listChatLinks(context, caller)).map(toWire) };
    },

    async createChatCode({ caller }) {
      const { code, expiresAt } = await createLinkCode(context, caller);
      return { code, expires_at: formatTimestamp(expiresAt) };
    },

    async deleteChatLink({ caller, path }) {
      await deleteChatLink(context, caller, path.id);
      return { unlinked: path.id };
    },
  };
}

function toWire({ link, reviewerName }: ListedLink): ChatLink {
  const { id, platform, user, reviewerId, linkedAt } = link;
  return {
    id,
    platform,
    team_id: user.teamId,
    user_id: user.userId,
    user_name: user.name,
    reviewer: { id: reviewerId, name: reviewerName },
    linked_at: formatTimestamp(linkedAt),
  };
}
