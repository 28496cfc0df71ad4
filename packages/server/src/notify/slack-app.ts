/**
 * Slack apps as a chat platform: calls of the Web API with blocks, and events of interactive
 * messages, over HTTP or Socket Mode.
 *
 * Names are inline code in mrkdwn, and arguments are preformatted rich text. Slack interprets no
 * mention, link or formatting in either.
 *
 * @see https://docs.slack.dev/reference/block-kit/blocks
 * @see https://docs.slack.dev/interactivity/handling-user-interaction
 */

import type { SendOutcome, SlackAppTarget } from "../core/channel.ts";
import {
  CHAT_ARGUMENTS_BYTES_MAX,
  CHAT_NOTE_CHARS_MAX,
  type ChatEvent,
  type ChatReply,
} from "../core/chat.ts";
import { excerptArguments } from "../core/excerpt-arguments.ts";
import { isChannelFault, isMessageGone, knownSlackError } from "../core/slack-errors.ts";
import type {
  CallButtons,
  CallMessage,
  ChannelMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "./channel-message.ts";
import type {
  ChatAddresses,
  ChatAnswer,
  ChatCall,
  ChatPlatform,
  ChatReceived,
} from "./chat-platform.ts";
import { LABELS, noteHint, titleOf } from "./chat-text.ts";
import { formatMessage, formatResolved } from "./format-message.ts";
import { escapeSlack, linkOf, quoteSlack } from "./http-kinds.ts";
import {
  ACTIONS,
  CODE_FORM,
  isSlackSigned,
  NOTE_FORM,
  readSlackBody,
  readSlackPayload,
  writeFormState,
} from "./slack-events.ts";
import { openSlackSocket } from "./slack-socket.ts";
import { isSlackChannel, type TargetFault } from "./target.ts";

/** A bot token. A user token would post in the name of its user. */
const BOT_TOKEN = /^xoxb-[A-Za-z0-9-]{10,240}$/;

const APP_TOKEN = /^xapp-[A-Za-z0-9-]{10,240}$/;

const SIGNING_SECRET = /^[0-9a-f]{32,64}$/;

/** Maximum characters of the text of a section. */
const SECTION_CHARS_MAX = 3_000;

const STYLE = { quote: quoteSlack, argumentsBytesMax: undefined };

export const slackPlatform: ChatPlatform<SlackAppTarget> = {
  targetFault,
  decisionFault,
  needsConnection: ({ appToken }) => appToken !== undefined,
  connect: openSlackSocket,
  appSecret: ({ token }) => token,
  postCall,
  postOutcome: (_, status, body) => postOutcome(status, body),
  updateCall,
  updateOutcome,
  receive,
  readPayload: (_, payload) => readSlackPayload(payload),
  answer,
};

function targetFault(target: SlackAppTarget): TargetFault | undefined {
  const { token, slackChannel, signingSecret, appToken } = target;
  if (!BOT_TOKEN.test(token)) {
    return { field: "token", rule: "must be a bot token of a Slack app, which starts with xoxb-" };
  }
  if (!isSlackChannel(slackChannel)) {
    return { field: "slack_channel", rule: "must be the id of a Slack channel, like C0123456789" };
  }
  if (signingSecret !== undefined && !SIGNING_SECRET.test(signingSecret)) {
    const rule = "must be the signing secret of the Slack app, of 32 hexadecimal digits";
    return { field: "signing_secret", rule };
  }
  if (appToken !== undefined && !APP_TOKEN.test(appToken)) {
    const rule = "must be an app-level token of the Slack app, which starts with xapp-";
    return { field: "app_token", rule };
  }
  return undefined;
}

function decisionFault({ signingSecret, appToken }: SlackAppTarget): TargetFault | undefined {
  if (appToken !== undefined || signingSecret !== undefined) return undefined;
  return { field: "decide", rule: "requires app_token (Socket Mode) or signing_secret (HTTP)" };
}

// Messages. ------------------------------------------------------------------------------------

function postCall(
  target: SlackAppTarget,
  message: ChannelMessage,
  addresses: ChatAddresses,
): ChatCall {
  const isDecision = message.kind === "decision";
  const content = isDecision ? resolvedContent(message, addresses) : contentOf(message, addresses);
  const thread = isDecision ? message.thread : undefined;
  const sent = {
    channel: target.slackChannel,
    ...content,
    ...(thread?.place === target.slackChannel && { thread_ts: thread.id }),
    unfurl_links: false,
    unfurl_media: false,
  };
  return callOf("chat.postMessage", target, sent, addresses);
}

/** Replaces the whole message. */
function updateCall(
  target: SlackAppTarget,
  message: ResolvedMessage | RefreshedMessage,
  addresses: ChatAddresses,
): ChatCall {
  const { id, place } = message.post;
  const content =
    message.kind === "resolved"
      ? resolvedContent(message, addresses)
      : contentOf(message.call, addresses);
  return callOf("chat.update", target, { channel: place, ts: id, ...content }, addresses);
}

function callOf(
  method: string,
  { token }: SlackAppTarget,
  body: object,
  { apiUrl }: ChatAddresses,
): ChatCall {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json; charset=utf-8",
  };
  return { method: "POST", url: `${apiUrl}/${method}`, headers, body: JSON.stringify(body) };
}

/** The title is for notifications and screen readers, which do not read blocks. */
function contentOf(message: ChannelMessage, { projectUrl }: ChatAddresses): object {
  const { title, lines } = formatMessage(message, STYLE);
  const call = message.kind === "call" ? message : undefined;
  const reminder = call?.isReminder ? ["*Reminder*"] : [];
  const blocks = [
    ...[...reminder, ...lines].map(section),
    ...argumentBlocks(call),
    ...buttonBlocks(call),
    section(escapeSlack(linkOf(projectUrl, message))),
  ];
  return { text: title, blocks };
}

function resolvedContent(
  message: Pick<ResolvedMessage, "call" | "outcome">,
  { projectUrl }: ChatAddresses,
): object {
  const { title, lines } = formatResolved(message, STYLE);
  const blocks = [
    ...lines.map(section),
    ...argumentBlocks(message.call),
    section(escapeSlack(linkOf(projectUrl, message.call))),
  ];
  return { text: title, blocks };
}

function section(text: string): object {
  const fits = text.length <= SECTION_CHARS_MAX;
  return { type: "section", text: { type: "mrkdwn", text: fits ? text : TOO_LONG } };
}

/** Truncated markup could change its meaning. */
const TOO_LONG = "This line is too long for Slack. Open the request to read it.";

function argumentBlocks(call: CallMessage | undefined): object[] {
  if (call?.argumentsText === undefined) return [];
  const { label, shown } = excerptArguments(call.argumentsText, CHAT_ARGUMENTS_BYTES_MAX);
  const text = { type: "text", text: shown };
  const preformatted = { type: "rich_text_preformatted", elements: [text] };
  return [section(`${label}:`), { type: "rich_text", elements: [preformatted] }];
}

function buttonBlocks(call: CallMessage | undefined): object[] {
  if (call?.buttons === undefined) return [];
  const value = buttonValue(call, call.buttons);
  const approve = button(LABELS.approve, ACTIONS.approve, value, "primary");
  const deny = button(LABELS.deny, ACTIONS.deny, value, "danger");
  return [{ type: "actions", elements: call.buttons.canApprove ? [approve, deny] : [deny] }];
}

function button(label: string, action: string, value: string, style?: string): object {
  const text = { type: "plain_text", text: label };
  return { type: "button", action_id: action, value, text, ...(style !== undefined && { style }) };
}

function buttonValue({ requestId }: CallMessage, { nonce, argumentsSha256 }: CallButtons): string {
  return `${requestId}.${argumentsSha256}.${nonce}`;
}

// Outcomes. ------------------------------------------------------------------------------------

interface SlackAnswer {
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly ts?: unknown;
  readonly channel?: unknown;
}

const TS = /^\d{1,12}\.\d{1,9}$/;

/** The result of chat.postMessage. Slack answers most errors with status 200. */
function postOutcome(status: number, body: Uint8Array): SendOutcome {
  if (status >= 300) return { kind: "rejected", status, retryAfterMs: undefined };
  const answer = readAnswer(body);
  if (answer === undefined) return { kind: "unreachable", reason: "protocol" };
  if (answer.ok !== true) return rejected(status, knownSlackError(answer.error));
  const { ts: id, channel: place } = answer;
  if (typeof id !== "string" || !TS.test(id)) return { kind: "unreachable", reason: "protocol" };
  if (typeof place !== "string" || !isSlackChannel(place)) {
    return { kind: "unreachable", reason: "protocol" };
  }
  return { kind: "sent", status, post: { id, place } };
}

/**
 * The result of chat.update. A message in a conversation that the channel no longer uses is given
 * up when that conversation does not accept the update.
 */
function updateOutcome(
  { slackChannel }: SlackAppTarget,
  { post }: Pick<ResolvedMessage, "post">,
  status: number,
  body: Uint8Array,
): SendOutcome {
  if (status >= 300) return { kind: "rejected", status, retryAfterMs: undefined };
  const answer = readAnswer(body);
  if (answer === undefined) return { kind: "unreachable", reason: "protocol" };
  if (answer.ok === true) return { kind: "sent", status };
  const reason = knownSlackError(answer.error);
  const isLeft = post.place !== slackChannel && isChannelFault(reason);
  return isMessageGone(reason) || isLeft ? { kind: "gone", reason } : rejected(status, reason);
}

function rejected(status: number, reason: string): SendOutcome {
  return { kind: "rejected", status, reason, retryAfterMs: undefined };
}

/** @returns undefined when the answer is not a JSON object */
function readAnswer(body: Uint8Array): SlackAnswer | undefined {
  try {
    const answer: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    return typeof answer === "object" && answer !== null ? answer : undefined;
  } catch {
    return undefined;
  }
}

// Events. --------------------------------------------------------------------------------------

function receive(
  { signingSecret }: SlackAppTarget,
  received: ChatReceived,
): ChatEvent | "forged" | "invalid" {
  if (signingSecret === undefined || !isSlackSigned(signingSecret, received)) return "forged";
  return readSlackBody(received.body);
}

/** Slack shows the reply of a form in the form, and other replies as an ephemeral message. */
function answer(
  target: SlackAppTarget,
  event: ChatEvent,
  reply: ChatReply,
  addresses: ChatAddresses,
): ChatAnswer {
  if (event.kind === "ping" || event.kind === "ignored" || reply.kind === "none") {
    return { calls: [] };
  }
  const isForm = event.kind === "note_sent" || event.kind === "code_sent";
  switch (reply.kind) {
    case "done":
    case "refused":
      return isForm
        ? { body: formAnswer(event, reply), calls: [] }
        : { calls: [ephemeral(target, event, reply.text, addresses)] };
    case "note_form":
      return openForm(target, event, noteForm(event, reply), addresses);
    case "code_form":
      return openForm(target, event, codeForm(event.place, reply.text), addresses);
  }
}

type TextReply = Extract<ChatReply, { readonly kind: "done" | "refused" }>;

type UserEvent = Exclude<ChatEvent, { kind: "ping" | "ignored" }>;

function ephemeral(
  target: SlackAppTarget,
  { place: channel, user }: UserEvent,
  text: string,
  addresses: ChatAddresses,
): ChatCall {
  const body = { channel, user: user.userId, text: escapeSlack(text) };
  return callOf("chat.postEphemeral", target, body, addresses);
}

/** The message shows a verdict, so the form closes. After a link, a view shows the result. */
function formAnswer(event: UserEvent, { kind, text }: TextReply): object {
  const isCode = event.kind === "code_sent";
  if (kind === "refused") {
    const block = isCode ? CODE_FORM.block : NOTE_FORM.block;
    return { response_action: "errors", errors: { [block]: text } };
  }
  if (!isCode) return { response_action: "clear" };
  const view = { type: "modal", title: plain("Countersign"), close: plain("Close") };
  return { response_action: "update", view: { ...view, blocks: [section(escapeSlack(text))] } };
}

function openForm(
  target: SlackAppTarget,
  { replyTo }: UserEvent,
  view: object,
  addresses: ChatAddresses,
): ChatAnswer {
  return { calls: [callOf("views.open", target, { trigger_id: replyTo, view }, addresses)] };
}

function noteForm(
  event: UserEvent,
  reply: Extract<ChatReply, { readonly kind: "note_form" }>,
): object {
  if (event.kind !== "pressed") throw new Error("only a button opens the form for a note");
  const { isRequired, title } = reply;
  return {
    type: "modal",
    callback_id: NOTE_FORM.id,
    private_metadata: writeFormState(event),
    title: plain(titleOf(reply)),
    submit: plain(reply.verdict === "approve" ? LABELS.approve : LABELS.deny),
    close: plain("Cancel"),
    blocks: [
      section(quoteSlack(title)),
      {
        type: "input",
        block_id: NOTE_FORM.block,
        optional: !isRequired,
        label: plain(LABELS.note),
        hint: plain(noteHint(reply)),
        element: {
          type: "plain_text_input",
          action_id: NOTE_FORM.action,
          multiline: true,
          max_length: CHAT_NOTE_CHARS_MAX,
        },
      },
    ],
  };
}

function codeForm(place: string, text: string): object {
  return {
    type: "modal",
    callback_id: CODE_FORM.id,
    private_metadata: place,
    title: plain(LABELS.link),
    submit: plain(LABELS.link),
    close: plain("Cancel"),
    blocks: [
      section(escapeSlack(text)),
      {
        type: "input",
        block_id: CODE_FORM.block,
        label: plain(LABELS.code),
        element: { type: "plain_text_input", action_id: CODE_FORM.action, max_length: 20 },
      },
    ],
  };
}

function plain(text: string): object {
  return { type: "plain_text", text };
}
