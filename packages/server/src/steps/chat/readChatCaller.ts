/** Finds the reviewer to whom a user of a chat is linked. */

import type { ChannelPost } from "../../core/channel.ts";
import { type ChatKind, type ChatUser, chatOrigin } from "../../core/chat.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import { findLink } from "../../storage/sql/chat/chat-links.ts";
import type { Reader } from "../../storage/store.ts";
import { mayAuthenticate, toReviewerCaller } from "../access/mayAuthenticate.ts";

/** The reviewer to whom a user of a chat is linked, with the permissions of a signed-in user. */
export type ChatCaller =
  | { readonly kind: "linked"; readonly caller: ReviewerCaller }
  | { readonly kind: "unlinked" }
  /** The reviewer was removed or disabled. */
  | { readonly kind: "inactive" };

export async function readChatCaller(
  reader: Reader,
  projectId: string,
  platform: ChatKind,
  user: ChatUser,
  post: ChannelPost,
): Promise<ChatCaller> {
  const link = await findLink(reader, projectId, platform, user);
  if (link === undefined) return { kind: "unlinked" };
  const reviewer = await readReviewer(reader, { projectId, id: link.reviewerId });
  if (reviewer === undefined || !(await mayAuthenticate(reader, reviewer))) {
    return { kind: "inactive" };
  }
  const through = { credentialId: link.id, projectId, scopes: null, session: null };
  const chat = { kind: platform, text: chatOrigin(platform, user, post) };
  return { kind: "linked", caller: { ...toReviewerCaller(reviewer, through), chat } };
}
