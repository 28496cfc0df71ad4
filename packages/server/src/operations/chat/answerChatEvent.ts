/** Answers an authenticated event of a chat: a verdict, or the link of an account. */

import { excerpt, formatDuration, Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import {
  type ButtonPressed,
  type ChatEvent,
  type ChatReply,
  isChatKind,
  type NoteSent,
} from "../../core/chat.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { buttonsOf } from "../../steps/channels/composeCall.ts";
import { type FoundButton, findButton } from "../../steps/chat/findButton.ts";
import { readChatCaller } from "../../steps/chat/readChatCaller.ts";
import { insertChatEvent } from "../../storage/sql/chat/chat-events.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import { castVerdict } from "../requests/castVerdict.ts";
import { linkChatUser } from "./linkChatUser.ts";

/** Why an event had no effect, for the audit log. */
type Refusal =
  | "unknown_message"
  | "changed_button"
  | "unlinked"
  | "inactive"
  | "replayed"
  | "not_permitted";

/**
 * Answers an event that the platform sent. The verdict of a linked user is the one of the reviewer
 * in the console: the same operation records it. Refused events have an audit entry.
 *
 * @param channel that received the event; people can decide in it
 * @returns the reply for the user of the event alone
 */
export async function answerChatEvent(
  context: Context,
  channel: StoredChannel,
  event: ChatEvent,
): Promise<ChatReply> {
  if (event.kind === "ping" || event.kind === "ignored") return { kind: "none" };
  const { projectId, kind } = channel;
  if (!isChatKind(kind)) throw new Error(`${kind} is not a chat`);
  const { teamId, userId } = event.user;
  const waitS = context.chatEvents.take([projectId, kind, teamId, userId].join(" "));
  if (waitS > 0) return refusal(`Too many actions. Retry in ${waitS} seconds.`);
  if (event.kind === "link_wanted") return { kind: "code_form", text: LINK_HELP };
  if (event.kind === "code_sent") return linkChatUser(context, channel, event);
  return decide(context, channel, event);
}

const LINK_HELP =
  "Sign in to the console, open Settings, and create a code under Chat accounts. " +
  "Enter the code here.";

const TEXTS: Readonly<Record<Exclude<Refusal, "unlinked" | "not_permitted">, string>> = {
  unknown_message: "This message is not known. Open the request in the console.",
  changed_button: "This button is not the current one. Open the request in the console.",
  inactive: "Your reviewer account is disabled or removed. Ask an administrator.",
  replayed: "This action was already received.",
};

type VerdictEvent = ButtonPressed | NoteSent;

async function decide(
  context: Context,
  receiver: StoredChannel,
  event: VerdictEvent,
): Promise<ChatReply> {
  const refuse = (reason: Refusal, text: string) =>
    recordRefusal(context, receiver, event, reason).then(() => refusal(text));
  const found = await findButton(context, receiver, event);
  if (typeof found === "string") return refuse(found, TEXTS[found]);
  const { kind, projectId } = receiver;
  if (!isChatKind(kind)) throw new Error(`${kind} is not a chat`);
  const linked = await readChatCaller(context.store, projectId, kind, event.user, event.post);
  if (linked.kind === "unlinked") {
    await recordRefusal(context, receiver, event, "unlinked");
    return {
      kind: "code_form",
      text: `Your account is not linked to a reviewer. ${LINK_HELP} Then press the button again.`,
    };
  }
  if (linked.kind === "inactive") return refuse("inactive", TEXTS.inactive);
  const request = await readRequest(context.store, { projectId, id: found.post.requestId });
  if (request === undefined) return refuse("unknown_message", TEXTS.unknown_message);
  const before = checkBefore(request, found, event);
  if (before !== undefined) return before;
  if (!(await isFirst(context, receiver, event))) return refuse("replayed", TEXTS.replayed);
  try {
    return await cast(context, linked.caller, found, event);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "forbidden" || error.code === "invalid_credential") {
      return refuse("not_permitted", error.message);
    }
    return refusal(error.message);
  }
}

/** @returns undefined when the event contains the whole verdict */
function checkBefore(
  request: StoredRequest,
  { channel, post }: FoundButton,
  event: VerdictEvent,
): ChatReply | undefined {
  if (request.decision !== null) return refusal(`The request is already ${request.status}.`);
  const requirement = requirementOf(readJudgement(request.policy));
  const { verdict } = event;
  const buttons = buttonsOf(channel, request, requirement, post.buttons?.nonce ?? "");
  if (verdict === "approve" && buttons?.canApprove !== true) {
    return refusal("This approval needs more than a click. Open the request in the console.");
  }
  const isRequired = verdict === "approve" && requirement.noteRequired;
  if (event.kind === "note_sent" || (verdict === "approve" && !isRequired)) return undefined;
  const { tool, server } = readToolName(request);
  const title = excerpt(server === undefined ? tool : `${tool} on ${server}`, TITLE_CHARS_MAX);
  return { kind: "note_form", verdict, isRequired, title };
}

const TITLE_CHARS_MAX = 120;

/** A platform or an attacker may send an event again. */
function isFirst(context: Context, channel: StoredChannel, { id }: VerdictEvent): Promise<boolean> {
  return context.store.transact(async (tx) => insertChatEvent(tx, channel, id, await tx.now()));
}

async function cast(
  context: Context,
  caller: ReviewerCaller,
  { post }: FoundButton,
  event: VerdictEvent,
): Promise<ChatReply> {
  const { projectId } = caller;
  const { requestId, buttons } = post;
  const decided = await castVerdict(context, caller, requestId, {
    verdict: event.verdict,
    argumentsSha256: buttons?.argumentsSha256 ?? "",
    note: event.kind === "note_sent" ? event.note : undefined,
    validityMs: undefined,
    confirmation: undefined,
  });
  if (decided.decision !== null) return { kind: "done", text: decidedText(decided) };
  const { quorum } = requirementOf(readJudgement(decided.policy));
  const votes = await readVotes(context.store, projectId, [requestId]);
  return { kind: "done", text: `Your approval is recorded: ${votes.length} of ${quorum}.` };
}

function decidedText({ status, decision, createdAt }: StoredRequest): string {
  const tookMs = Math.max(0, (decision?.decidedAt ?? createdAt) - createdAt);
  return `The request is ${status}, after ${formatDuration(Math.ceil(tookMs / 1000) * 1000)}.`;
}

function refusal(text: string): ChatReply {
  return { kind: "refused", text };
}

async function recordRefusal(
  { store, random }: Pick<Context, "store" | "random">,
  { projectId, id, kind }: StoredChannel,
  { user, verdict, post }: VerdictEvent,
  reason: Refusal,
): Promise<void> {
  await store.transact(async (tx) =>
    appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "chat.refused",
      actor: "system:chat",
      subject: `channel:${id}`,
      detail: {
        reason,
        verdict,
        user: `${kind}:${user.teamId}:${user.userId}`,
        message: `${post.place}:${post.id}`,
      },
    }),
  );
}
