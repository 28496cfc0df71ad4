/**
 * Links users of chats to reviewers. A signed-in reviewer creates a code and sends it from the
 * chat, which proves control of both accounts. Names and addresses prove nothing.
 */

import { excerpt, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import {
  type ChatReply,
  CODE_MS,
  type CodeSent,
  isChatKind,
  readCode,
  writeCode,
} from "../../core/chat.ts";
import { sha256Hex } from "../../core/digest.ts";
import { isPermitted, mayVote } from "../../core/scopes.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay, assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { mayAuthenticate } from "../../steps/access/mayAuthenticate.ts";
import { lockReviewer, readReviewers } from "../../storage/sql/access/holders.ts";
import {
  type ChatLink,
  deleteLink,
  findLink,
  listLinks,
  lockLink,
  useCode,
  writeCodeHash,
  writeLink,
} from "../../storage/sql/chat/chat-links.ts";

const CODE_BYTES = 16;

/** Of a name that a chat displays. */
const NAME_CHARS_MAX = 80;

export interface LinkCode {
  readonly code: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/**
 * Creates a code that links a user of a chat to the caller. Replaces the caller's earlier code.
 *
 * @throws Problem `forbidden` without a recent sign-in, or for a role that cannot decide
 */
export async function createLinkCode(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
): Promise<LinkCode> {
  assertMayVote(caller);
  const { session, projectId, reviewerId } = caller;
  if (session === null) throw new Problem("forbidden", "Sign in to the console to link a chat.");
  const code = writeCode(random.bytes(CODE_BYTES));
  return store.transact(async (tx) => {
    const now = await tx.now();
    assertFresh(session, now, "link your chat account");
    const expiresAt = now + CODE_MS;
    await writeCodeHash(tx, { projectId, id: reviewerId }, sha256Hex(code), expiresAt);
    return { code, expiresAt };
  });
}

const WRONG_CODE =
  "This code is not valid. Create a new one in the console: it is valid for 10 minutes, once.";

/** Links the user of the event to the reviewer who created the code. */
export async function linkChatUser(
  { store, random }: Pick<Context, "store" | "random">,
  { projectId, kind }: StoredChannel,
  { user, code: text }: CodeSent,
): Promise<ChatReply> {
  if (!isChatKind(kind)) throw new Error(`${kind} is not a chat`);
  const code = readCode(text);
  if (code === undefined) return { kind: "refused", text: WRONG_CODE };
  return store.transact(async (tx): Promise<ChatReply> => {
    const at = await tx.now();
    const reviewerId = await useCode(tx, projectId, sha256Hex(code), at);
    const reviewer =
      reviewerId === undefined
        ? undefined
        : await lockReviewer(tx, "share", { projectId, id: reviewerId });
    if (reviewer === undefined || !(await mayAuthenticate(tx, reviewer))) {
      return { kind: "refused", text: WRONG_CODE };
    }
    const earlier = await findLink(tx, projectId, kind, user);
    const link: ChatLink = {
      projectId,
      id: uuidV7(at, random.bytes(10)),
      platform: kind,
      user: { ...user, name: excerpt(user.name, NAME_CHARS_MAX) },
      reviewerId: reviewer.id,
      linkedAt: at,
    };
    await writeLink(tx, link);
    await appendAudit(tx, random, {
      at,
      projectId,
      kind: "chat.linked",
      actor: `reviewer:${reviewer.id}`,
      subject: `chat_link:${link.id}`,
      detail: { user: userText(link), in_place_of: earlier?.reviewerId },
    });
    return { kind: "done", text: `Your account is linked to the reviewer ${reviewer.name}.` };
  });
}

export interface ListedLink {
  readonly link: ChatLink;
  readonly reviewerName: string;
}

/** The links of the caller, or of all reviewers for a caller who manages people. */
export async function listChatLinks(
  { store }: Pick<Context, "store">,
  caller: ReviewerCaller,
): Promise<ListedLink[]> {
  const { projectId, reviewerId } = caller;
  const only = isPermitted(caller, "people") ? undefined : reviewerId;
  const links = await listLinks(store, projectId, only);
  const ids = [...new Set(links.map((link) => link.reviewerId))];
  const reviewers = await readReviewers(store, projectId, ids);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return links.map((link) => ({ link, reviewerName: names.get(link.reviewerId) ?? "" }));
}

/**
 * Deletes a link. Decisions through it stay, and its user cannot decide any more.
 *
 * @throws Problem `forbidden` for a role that can neither decide nor manage people; `not_found` for
 * links of others, unless the caller manages people
 */
export async function deleteChatLink(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
): Promise<ChatLink> {
  if (!mayVote(caller)) assertMay(caller, "people");
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    const link = await lockLink(tx, "update", { projectId, id });
    const isOwn = link?.reviewerId === reviewerId;
    if (link === undefined || !(isOwn || isPermitted(caller, "people"))) {
      throw new Problem("not_found");
    }
    await deleteLink(tx, link);
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "chat.unlinked",
      actor: `reviewer:${reviewerId}`,
      subject: `chat_link:${id}`,
      detail: { user: userText(link), reviewer: link.reviewerId },
    });
    return link;
  });
}

function userText({ platform, user }: ChatLink): string {
  return `${platform}:${user.teamId}:${user.userId}`;
}
