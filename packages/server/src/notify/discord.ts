/**
 * Discord bots as a chat platform: messages with buttons, and signed interactions over HTTP.
 *
 * Names are inline code, and arguments are a block of code. Discord interprets no mention, link or
 * formatting in either. In addition, `allowed_mentions` permits no mention.
 *
 * @see https://docs.discord.com/developers/resources/message
 * @see https://docs.discord.com/developers/components/using-message-components
 * @see https://docs.discord.com/developers/components/reference
 * @see https://docs.discord.com/developers/topics/opcodes-and-status-codes
 */

import type { DiscordTarget, SendOutcome } from "../core/channel.ts";
import { CHAT_NOTE_CHARS_MAX, type ChatEvent, type ChatReply } from "../core/chat.ts";
import { DISCORD_ERRORS, OTHER_CHAT_ERROR } from "../core/chat-errors.ts";
import type {
  CallMessage,
  ChannelMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "./channel-message.ts";
import {
  type ChatFailure,
  NOT_VALID,
  readObject,
  rejected,
  toRetryMs,
  updateFailure,
} from "./chat-answer.ts";
import type { ChatAddresses, ChatCall, ChatPlatform, ChatReceived } from "./chat-platform.ts";
import { fitArguments, fitLines, LABELS, noteHint, titleOf } from "./chat-text.ts";
import {
  buttonId,
  CODE_FORM_ID,
  FORM_FIELD,
  isDiscordSigned,
  noteFormId,
  readInteraction,
} from "./discord-events.ts";
import { formatMessage, formatResolved } from "./format-message.ts";
import { linkOf } from "./http-kinds.ts";
import { codeBlock, escapeFences, quoteMarkdown, quoteReply } from "./markdown.ts";
import type { TargetFault } from "./target.ts";

const TOKEN = /^[A-Za-z0-9_.-]{50,120}$/;
const CHANNEL = /^\d{15,20}$/;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;

/** Together at most 4,000 characters, with the link. */
const LINES_CHARS_MAX = 1_400;
const ARGUMENTS_CHARS_MAX = 2_100;

const STYLE = { quote: quoteMarkdown, argumentsBytesMax: undefined };

const NO_MENTIONS = { parse: [] };

export const discordPlatform: ChatPlatform<DiscordTarget> = {
  targetFault,
  decisionFault: ({ publicKey }) =>
    publicKey === undefined ? { field: "decide", rule: "requires public_key" } : undefined,
  needsConnection: () => false,
  connect: () => {
    throw new Error("Discord sends events over HTTP");
  },
  appSecret: ({ token }) => token,
  postCall,
  postOutcome,
  updateCall,
  updateOutcome,
  receive,
  readPayload: () => "invalid",
  answer: (_, event, reply) => ({ calls: [], ...bodyOf(answerOf(event, reply)) }),
};

function targetFault(target: DiscordTarget): TargetFault | undefined {
  const { token, conversation, publicKey } = target;
  if (!TOKEN.test(token)) return { field: "token", rule: "must be the token of a Discord bot" };
  if (!CHANNEL.test(conversation)) {
    return { field: "conversation", rule: "must be the id of a Discord channel, with 15 digits" };
  }
  if (publicKey !== undefined && !PUBLIC_KEY.test(publicKey)) {
    const rule = "must be the public key of the Discord application, of 64 hexadecimal digits";
    return { field: "public_key", rule };
  }
  return undefined;
}

// Messages. ------------------------------------------------------------------------------------

function postCall(
  target: DiscordTarget,
  message: ChannelMessage,
  addresses: ChatAddresses,
): ChatCall {
  const path = `/channels/${target.conversation}/messages`;
  const sent = { ...contentOf(message, addresses), ...replyOf(target, message) };
  return callOf("POST", path, target, sent, addresses);
}

/** A message about a decision is a reply to the one about the call. */
function replyOf({ conversation }: DiscordTarget, message: ChannelMessage): object {
  const thread = message.kind === "decision" ? message.thread : undefined;
  if (thread?.place !== conversation) return {};
  return { message_reference: { message_id: thread.id, fail_if_not_exists: false } };
}

/** Replaces the whole message. */
function updateCall(
  target: DiscordTarget,
  message: ResolvedMessage | RefreshedMessage,
  addresses: ChatAddresses,
): ChatCall {
  const { id, place } = message.post;
  const content =
    message.kind === "resolved"
      ? resolvedContent(message, addresses)
      : contentOf(message.call, addresses);
  return callOf("PATCH", `/channels/${place}/messages/${id}`, target, content, addresses);
}

function callOf(
  method: ChatCall["method"],
  path: string,
  { token }: DiscordTarget,
  body: object,
  { apiUrl }: ChatAddresses,
): ChatCall {
  const headers = { authorization: `Bot ${token}`, "content-type": "application/json" };
  return { method, url: `${apiUrl}${path}`, headers, body: JSON.stringify(body) };
}

function contentOf(message: ChannelMessage, addresses: ChatAddresses): object {
  if (message.kind === "decision") return resolvedContent(message, addresses);
  const { lines } = formatMessage(message, STYLE);
  const call = message.kind === "call" ? message : undefined;
  const reminder = call?.isReminder ? ["**Reminder**"] : [];
  return markdownMessage([...reminder, ...lines], call, linkOf(addresses.projectUrl, message));
}

function resolvedContent(
  message: Pick<ResolvedMessage, "call" | "outcome">,
  { projectUrl }: ChatAddresses,
): object {
  const { lines } = formatResolved(message, STYLE);
  const call = { ...message.call, buttons: undefined };
  return markdownMessage(lines, call, linkOf(projectUrl, call));
}

function markdownMessage(
  lines: readonly string[],
  call: CallMessage | undefined,
  link: string,
): object {
  const fitted = call && fitArguments(call, escapeFences, ARGUMENTS_CHARS_MAX);
  const block = fitted === undefined ? [] : [`${fitted.label}:`, codeBlock(fitted.shown)];
  // Within angle brackets, a link has no preview.
  const content = [...fitLines(lines, LINES_CHARS_MAX), ...block, `<${link}>`].join("\n");
  const rows = buttonRows(call, fitted?.isWhole !== false);
  return {
    flags: COMPONENTS_V2,
    components: [{ type: TEXT_DISPLAY, content }, ...rows],
    allowed_mentions: NO_MENTIONS,
  };
}

/**
 * A message of components has one text of 4,000 characters. Users and missing permissions can hide
 * an embed, so arguments must not be in one.
 */
const COMPONENTS_V2 = 32_768;

const TEXT_DISPLAY = 10;
const ACTION_ROW = 1;
const BUTTON = 2;
const TEXT_INPUT = 4;
const GREEN = 3;
const RED = 4;

/** @param areArgumentsWhole false: the reviewer approves on the page of the request */
function buttonRows(call: CallMessage | undefined, areArgumentsWhole: boolean): object[] {
  if (call?.buttons === undefined) return [];
  const { nonce, canApprove } = call.buttons;
  const approve = button(GREEN, LABELS.approve, buttonId("approve", nonce));
  const deny = button(RED, LABELS.deny, buttonId("deny", nonce));
  const components = canApprove && areArgumentsWhole ? [approve, deny] : [deny];
  return [{ type: ACTION_ROW, components }];
}

function button(style: number, label: string, id: string): object {
  return { type: BUTTON, style, label, custom_id: id };
}

// Outcomes. ------------------------------------------------------------------------------------

const ID = /^\d{1,20}$/;

function postOutcome(_: DiscordTarget, status: number, body: Uint8Array): SendOutcome {
  const answer = readObject(body);
  if (status >= 300) return rejected(failureOf(status, answer));
  const { id, channel_id: place } = answer ?? {};
  if (typeof id !== "string" || !ID.test(id)) return NOT_VALID;
  if (typeof place !== "string" || !ID.test(place)) return NOT_VALID;
  return { kind: "sent", status, post: { id, place } };
}

function updateOutcome(
  { conversation }: DiscordTarget,
  { post }: Pick<ResolvedMessage, "post">,
  status: number,
  body: Uint8Array,
): SendOutcome {
  const answer = readObject(body);
  if (status >= 300) {
    return updateFailure(DISCORD_ERRORS, failureOf(status, answer), post, conversation);
  }
  return answer === undefined ? NOT_VALID : { kind: "sent", status };
}

const WORDS: Readonly<Record<number, string>> = {
  10003: "unknown_channel",
  10008: "unknown_message",
  50001: "missing_access",
  50005: "foreign_message",
  50013: "missing_permissions",
  50083: "thread_locked",
  160005: "thread_locked",
};

function failureOf(status: number, answer: ReturnType<typeof readObject>): ChatFailure {
  const retryAfterMs = toRetryMs(answer?.retry_after);
  return { status, word: wordOf(status, answer), retryAfterMs };
}

function wordOf(status: number, answer: ReturnType<typeof readObject>): string | undefined {
  if (status === 401) return "discord_unauthorized";
  if (status === 429) return "discord_rate_limited";
  const code = answer?.code;
  return typeof code === "number" ? (WORDS[code] ?? OTHER_CHAT_ERROR) : undefined;
}

// Events. --------------------------------------------------------------------------------------

function receive(
  { publicKey }: DiscordTarget,
  received: ChatReceived,
): ChatEvent | "forged" | "invalid" {
  if (publicKey === undefined || !isDiscordSigned(publicKey, received)) return "forged";
  return readInteraction(received.body);
}

const PONG = 1;
const MESSAGE = 4;
const DEFERRED_UPDATE = 6;
const MODAL = 9;

/** Only the user of the interaction sees the message. */
const EPHEMERAL = 64;

function bodyOf(body: object | undefined): { readonly body?: object } {
  return body === undefined ? {} : { body };
}

function answerOf(event: ChatEvent, reply: ChatReply): object | undefined {
  if (event.kind === "ping") return { type: PONG };
  if (event.kind === "ignored") return undefined;
  switch (reply.kind) {
    case "none":
      return { type: DEFERRED_UPDATE };
    case "done":
    case "refused":
      return ephemeral(reply.text);
    case "note_form":
      if (event.kind !== "pressed") throw new Error("only a button opens the form for a note");
      return noteForm(noteFormId(event.verdict, event.value.nonce), reply);
    case "code_form":
      // Discord does not open a form after a form.
      return event.kind === "pressed" ? codeForm() : ephemeral(reply.text);
  }
}

function ephemeral(text: string): object {
  const data = { content: quoteReply(text), flags: EPHEMERAL, allowed_mentions: NO_MENTIONS };
  return { type: MESSAGE, data };
}

const ONE_LINE = 1;
const PARAGRAPH = 2;

function noteForm(id: string, reply: Extract<ChatReply, { readonly kind: "note_form" }>): object {
  const field = {
    style: PARAGRAPH,
    label: LABELS.note,
    placeholder: noteHint(reply),
    required: reply.isRequired,
    max_length: CHAT_NOTE_CHARS_MAX,
  };
  return form(id, titleOf(reply), field);
}

const CODE_HINT = "From the console: Settings, Chat accounts";

function codeForm(): object {
  const field = {
    style: ONE_LINE,
    label: LABELS.code,
    placeholder: CODE_HINT,
    required: true,
    max_length: 20,
  };
  return form(CODE_FORM_ID, LABELS.link, field);
}

/** A form has a title of 45 characters and a placeholder of 100 at most. */
function form(id: string, title: string, field: object): object {
  const input = { type: TEXT_INPUT, custom_id: FORM_FIELD, ...field };
  const components = [{ type: ACTION_ROW, components: [input] }];
  return { type: MODAL, data: { custom_id: id, title, components } };
}
