/**
 * Telegram bots as a chat platform: messages in HTML with an inline keyboard, and updates that the
 * server polls.
 *
 * Names are inline code, and arguments are preformatted. Telegram interprets no mention, link or
 * formatting in either. The token is a part of each URL, and no URL is in a log or error.
 *
 * @see https://core.telegram.org/bots/api#sendmessage
 * @see https://core.telegram.org/bots/api#html-style
 * @see https://core.telegram.org/bots/api#responseparameters
 */

import type { SendOutcome, TelegramTarget } from "../core/channel.ts";
import type { ButtonPressed, ChatEvent, ChatReply } from "../core/chat.ts";
import { TELEGRAM_ERRORS } from "../core/chat-errors.ts";
import type {
  CallMessage,
  ChannelMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "./channel-message.ts";
import { NOT_VALID, readObject, rejected, updateFailure } from "./chat-answer.ts";
import type { ChatAddresses, ChatAnswer, ChatCall, ChatPlatform } from "./chat-platform.ts";
import { fitArguments, fitLines, LABELS, noteHint, titleOf } from "./chat-text.ts";
import { formatMessage, formatResolved } from "./format-message.ts";
import { linkOf } from "./http-kinds.ts";
import type { TargetFault } from "./target.ts";
import { failureOf } from "./telegram-errors.ts";
import { buttonData, NO_NOTE, readTelegramUpdate, writeReference } from "./telegram-events.ts";
import { openTelegramPoll } from "./telegram-poll.ts";

const TOKEN = /^\d{5,20}:[A-Za-z0-9_-]{30,60}$/;

/** A number, or the public name of a channel. */
const CHAT = /^(-?\d{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31})$/;

/** Telegram accepts 4,096 characters, without markup. The rest is for arguments and the link. */
const LINES_CHARS_MAX = 1_700;
const ARGUMENTS_CHARS_MAX = 10_000;

/** Maximum characters of an answer to a pressed button. */
const ALERT_CHARS_MAX = 200;

const STYLE = { quote: quoteHtml, argumentsBytesMax: undefined };

export const telegramPlatform: ChatPlatform<TelegramTarget> = {
  targetFault,
  decisionFault: () => undefined,
  needsConnection: () => true,
  connect: openTelegramPoll,
  appSecret: ({ token }) => token,
  postCall,
  postOutcome,
  updateCall,
  updateOutcome,
  // Updates arrive over the connection only.
  receive: () => "forged",
  readPayload: readTelegramUpdate,
  answer,
};

function targetFault({ token, conversation }: TelegramTarget): TargetFault | undefined {
  if (!TOKEN.test(token)) {
    const rule = "must be the token of a Telegram bot, which has a number, a colon and a secret";
    return { field: "token", rule };
  }
  if (!CHAT.test(conversation)) {
    const rule = "must be the id of a Telegram chat, like -1001234567890, or @name of a channel";
    return { field: "conversation", rule };
  }
  return undefined;
}

// Messages. ------------------------------------------------------------------------------------

function postCall(
  target: TelegramTarget,
  message: ChannelMessage,
  addresses: ChatAddresses,
): ChatCall {
  const sent = {
    chat_id: target.conversation,
    ...contentOf(message, addresses),
    ...replyOf(target, message),
  };
  return callOf("sendMessage", target, sent, addresses);
}

/** A message about a decision is a reply to the one about the call. */
function replyOf({ conversation }: TelegramTarget, message: ChannelMessage): object {
  const thread = message.kind === "decision" ? message.thread : undefined;
  if (thread?.place !== conversation) return {};
  const reply = { message_id: Number(thread.id), allow_sending_without_reply: true };
  return { reply_parameters: reply };
}

/** Replaces the whole message. */
function updateCall(
  target: TelegramTarget,
  message: ResolvedMessage | RefreshedMessage,
  addresses: ChatAddresses,
): ChatCall {
  const { id, place } = message.post;
  const content =
    message.kind === "resolved"
      ? resolvedContent(message, addresses)
      : contentOf(message.call, addresses);
  const changed = { chat_id: place, message_id: Number(id), ...content };
  return callOf("editMessageText", target, changed, addresses);
}

function callOf(
  method: string,
  { token }: TelegramTarget,
  body: object,
  { apiUrl }: ChatAddresses,
): ChatCall {
  const headers = { "content-type": "application/json" };
  const url = `${apiUrl}/bot${token}/${method}`;
  return { method: "POST", url, headers, body: JSON.stringify(body) };
}

function contentOf(message: ChannelMessage, addresses: ChatAddresses): object {
  if (message.kind === "decision") return resolvedContent(message, addresses);
  const { lines } = formatMessage(message, STYLE);
  const call = message.kind === "call" ? message : undefined;
  const reminder = call?.isReminder ? ["<b>Reminder</b>"] : [];
  return htmlMessage([...reminder, ...lines], call, linkOf(addresses.projectUrl, message));
}

function resolvedContent(
  message: Pick<ResolvedMessage, "call" | "outcome">,
  { projectUrl }: ChatAddresses,
): object {
  const { lines } = formatResolved(message, STYLE);
  const call = { ...message.call, buttons: undefined };
  return htmlMessage(lines, call, linkOf(projectUrl, call));
}

function htmlMessage(
  lines: readonly string[],
  call: CallMessage | undefined,
  link: string,
): object {
  const fitted = call && fitArguments(call, escapeHtml, ARGUMENTS_CHARS_MAX);
  const argumentLines =
    fitted === undefined ? [] : [`${fitted.label}:`, `<pre>${fitted.shown}</pre>`];
  const linkLines = isLinkButton(link) ? [] : [escapeHtml(link)];
  const shown = fitLines(lines, LINES_CHARS_MAX, shownLength);
  const rows = [buttonRow(call), isLinkButton(link) ? [{ text: LABELS.open, url: link }] : []];
  return {
    text: [...shown, ...argumentLines, ...linkLines].join("\n"),
    parse_mode: "HTML",
    link_preview_options: { is_disabled: true },
    // An empty keyboard removes the buttons.
    reply_markup: { inline_keyboard: rows.filter((row) => row.length > 0) },
  };
}

function buttonRow(call: CallMessage | undefined): object[] {
  if (call?.buttons === undefined) return [];
  const { nonce, canApprove } = call.buttons;
  const approve = { text: LABELS.approve, callback_data: buttonData("approve", nonce) };
  const deny = { text: LABELS.deny, callback_data: buttonData("deny", nonce) };
  return canApprove ? [approve, deny] : [deny];
}

/** Telegram rejects a message with a button for another URL, such as one for localhost. */
function isLinkButton(link: string): boolean {
  return /^https:\/\/[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?\//i.test(link);
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function quoteHtml(visible: string): string {
  return `<code>${escapeHtml(visible)}</code>`;
}

/** Telegram counts characters after it parsed the markup. */
function shownLength(html: string): number {
  return html.replace(/<[^>]*>/g, "").replace(/&(amp|lt|gt);/g, "&").length;
}

// Outcomes. ------------------------------------------------------------------------------------

/** The result of sendMessage. */
function postOutcome(_: TelegramTarget, status: number, body: Uint8Array): SendOutcome {
  const answer = readObject(body);
  if (answer?.ok !== true) return failed(status, answer);
  const { message_id: id, chat } = (answer.result ?? {}) as Readonly<Record<string, unknown>>;
  const place = (chat as { readonly id?: unknown } | undefined)?.id;
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(place)) return NOT_VALID;
  return { kind: "sent", status, post: { id: String(id), place: String(place) } };
}

function failed(status: number, answer: ReturnType<typeof readObject>): SendOutcome {
  if (answer === undefined && status < 300) return NOT_VALID;
  return rejected(failureOf(status, answer));
}

/** The result of editMessageText. An unchanged message is an error of Telegram. */
function updateOutcome(
  { conversation }: TelegramTarget,
  { post }: Pick<ResolvedMessage, "post">,
  status: number,
  body: Uint8Array,
): SendOutcome {
  const answer = readObject(body);
  if (answer?.ok === true || isUnchanged(answer)) return { kind: "sent", status: 200 };
  if (answer === undefined && status < 300) return NOT_VALID;
  // The id of a public channel is not known.
  const current = conversation.startsWith("@") ? post.place : conversation;
  return updateFailure(TELEGRAM_ERRORS, failureOf(status, answer), post, current);
}

function isUnchanged(answer: ReturnType<typeof readObject>): boolean {
  return /message is not modified/.test(String(answer?.description));
}

// Events. --------------------------------------------------------------------------------------

const LINK_TEXT =
  "Sign in to the console, open Settings, and create a code under Chat accounts. " +
  "Send the code to this bot in a private chat.";

/** At most 200 characters. */
const UNLINKED_TEXT =
  "Your account is not linked. In the console, open Settings and create a code under Chat " +
  "accounts. Send it to this bot in a private chat, then press again.";

const ASKED_TEXT = "Reply to the message that this bot sent you in a private chat.";

/** Only its user sees an answer to a pressed button. Other replies are private messages. */
function answer(
  target: TelegramTarget,
  event: ChatEvent,
  reply: ChatReply,
  addresses: ChatAddresses,
): ChatAnswer {
  if (event.kind === "ping" || event.kind === "ignored") return { calls: [] };
  const call = (method: string, body: object) => callOf(method, target, body, addresses);
  if (event.kind === "pressed") {
    const { text, isAlert } = alertOf(reply);
    const alert = {
      callback_query_id: event.replyTo,
      text: text.slice(0, ALERT_CHARS_MAX),
      show_alert: isAlert,
    };
    const asked =
      reply.kind === "note_form" ? [call("sendMessage", noteMessage(target, event, reply))] : [];
    return { calls: [...asked, call("answerCallbackQuery", alert)] };
  }
  const text = textOf(reply);
  if (text === undefined) return { calls: [] };
  const sent = { chat_id: event.replyTo, text: quoteHtml(text), parse_mode: "HTML" };
  const body = { ...sent, link_preview_options: { is_disabled: true } };
  return { calls: [call("sendMessage", body)] };
}

function alertOf(reply: ChatReply): { readonly text: string; readonly isAlert: boolean } {
  switch (reply.kind) {
    case "none":
      return { text: "", isAlert: false };
    case "done":
      return { text: reply.text, isAlert: false };
    case "refused":
      return { text: reply.text, isAlert: true };
    case "note_form":
      return { text: ASKED_TEXT, isAlert: true };
    case "code_form":
      return { text: UNLINKED_TEXT, isAlert: true };
  }
}

function textOf(reply: ChatReply): string | undefined {
  switch (reply.kind) {
    case "none":
    case "note_form":
      return undefined;
    case "done":
    case "refused":
      return reply.text;
    case "code_form":
      return LINK_TEXT;
  }
}

/** A private message, to which the user replies with the note. */
function noteMessage(
  target: TelegramTarget,
  event: ButtonPressed,
  reply: Extract<ChatReply, { readonly kind: "note_form" }>,
): object {
  const instead = reply.isRequired ? "" : `, or with ${NO_NOTE} for none`;
  const lines = [
    `${titleOf(reply)}: ${quoteHtml(reply.title)}`,
    `${noteHint(reply)} Reply to this message with the note${instead}.`,
    quoteHtml(writeReference(target, event)),
  ];
  return {
    chat_id: event.user.userId,
    text: lines.join("\n"),
    parse_mode: "HTML",
    link_preview_options: { is_disabled: true },
    reply_markup: { force_reply: true, input_field_placeholder: LABELS.note },
  };
}
