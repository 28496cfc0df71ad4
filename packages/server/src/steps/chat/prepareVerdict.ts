/** The checks of a pressed button or form before its verdict is cast. */

import { excerpt } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import {
  type ButtonPressed,
  type ChatReply,
  isChatKind,
  LINK_HELP,
  type NoteSent,
} from "../../core/chat.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { insertChatEvent } from "../../storage/sql/chat/chat-events.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import { buttonsOf } from "../channels/composeCall.ts";
import { type FoundButton, findButton } from "./findButton.ts";
import { readChatCaller } from "./readChatCaller.ts";

export type VerdictEvent = ButtonPressed | NoteSent;

/** Why an event had no effect, for the audit log. */
export type ChatRefusal =
  | "unknown_message"
  | "changed_button"
  | "unlinked"
  | "inactive"
  | "replayed"
  | "not_permitted";

export type PreparedVerdict =
  | {
      readonly kind: "verdict";
      readonly caller: ReviewerCaller;
      readonly requestId: string;
      readonly argumentsSha256: string;
    }
  /** There is no verdict yet. */
  | {
      readonly kind: "reply";
      readonly reply: ChatReply;
      /** For the audit log; undefined: nothing was refused. */
      readonly refusal?: ChatRefusal;
    };

const UNLINKED = [
  "Your account is not linked to a reviewer.",
  LINK_HELP,
  "Then press the button again.",
].join(" ");

const TEXTS: Readonly<Record<Exclude<ChatRefusal, "unlinked" | "not_permitted">, string>> = {
  unknown_message: "This message is not known. Open the request in the console.",
  changed_button: "This button is not the current one. Open the request in the console.",
  inactive: "Your reviewer account is disabled or removed. Ask an administrator.",
  replayed: "This action was already received.",
};

/**
 * Finds the request and the reviewer of an event. Records the event, so that it has one effect at
 * most.
 *
 * @param receiver the channel that received the event
 */
export async function prepareVerdict(
  context: Context,
  receiver: StoredChannel,
  event: VerdictEvent,
): Promise<PreparedVerdict> {
  const { kind, projectId } = receiver;
  if (!isChatKind(kind)) throw new Error(`${kind} is not a chat`);
  const { store } = context;
  const found = await findButton(context, receiver, event);
  if (typeof found === "string") return refused(found);
  const linked = await readChatCaller(store, projectId, kind, event.user, event.post);
  if (linked.kind === "unlinked") {
    return { kind: "reply", reply: { kind: "code_form", text: UNLINKED }, refusal: "unlinked" };
  }
  if (linked.kind === "inactive") return refused("inactive");
  const { requestId, buttons } = found.post;
  const request = await readRequest(store, { projectId, id: requestId });
  if (request === undefined || buttons === undefined) return refused("unknown_message");
  const reply = replyBefore(request, found, event);
  if (reply !== undefined) return { kind: "reply", reply };
  if (!(await isFirst(context, receiver, event))) return refused("replayed");
  const { argumentsSha256 } = buttons;
  return { kind: "verdict", caller: linked.caller, requestId, argumentsSha256 };
}

function refused(refusal: keyof typeof TEXTS): PreparedVerdict {
  return { kind: "reply", reply: { kind: "refused", text: TEXTS[refusal] }, refusal };
}

/** @returns undefined when the event contains the whole verdict */
function replyBefore(
  request: StoredRequest,
  { channel, post }: FoundButton,
  event: VerdictEvent,
): ChatReply | undefined {
  if (request.decision !== null) {
    return { kind: "refused", text: `The request is already ${request.status}.` };
  }
  const requirement = requirementOf(readJudgement(request.policy));
  const { verdict } = event;
  const buttons = buttonsOf(channel, request, requirement, post.buttons?.nonce ?? "");
  if (verdict === "approve" && buttons?.canApprove !== true) {
    const text = "This approval needs more than a click. Open the request in the console.";
    return { kind: "refused", text };
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
  const event = sha256Hex(id);
  return context.store.transact(async (tx) => insertChatEvent(tx, channel, event, await tx.now()));
}
