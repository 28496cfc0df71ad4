/** Links of chat accounts: users of a chat who decide as a reviewer. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { id, timestamp } from "./schema.ts";

export const chatLink = v.object({
  id,
  /** A kind of channel, such as slack_app. */
  platform: v.string(),
  /** Workspace, server or team; empty on platforms without one. */
  team_id: v.string(),
  user_id: v.string(),
  /** As the chat displayed it when the account was linked. */
  user_name: v.string(),
  reviewer: v.object({ id, name: v.string() }),
  linked_at: timestamp,
});

export type ChatLink = v.InferOutput<typeof chatLink>;

export const chat = {
  listChatLinks: operation({
    method: "GET",
    path: "/chat-links",
    summary: "List your chat accounts, or those of all reviewers if you manage people.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ links: v.array(chatLink) }) },
    errors: [],
  }),

  createChatCode: operation({
    method: "POST",
    path: "/chat-codes",
    summary: "Create a code that links your chat account. Send it from the chat.",
    caller: "reviewer",
    power: "decide",
    answers: { 201: v.object({ code: v.string(), expires_at: timestamp }) },
    errors: ["forbidden"],
  }),

  deleteChatLink: operation({
    method: "DELETE",
    path: "/chat-links/{id}",
    summary: "Unlink a chat account.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: v.object({ unlinked: id }) },
    errors: ["not_found"],
  }),
};
