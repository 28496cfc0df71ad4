/**
 * Mattermost bots as a chat platform: posts with interactive buttons, and dialogs.
 *
 * Names are inline code, and arguments are a block of code. Mattermost interprets no mention, link
 * or formatting in either.
 *
 * @see https://developers.mattermost.com/api-documentation/#/operations/CreatePost
 * @see https://developers.mattermost.com/integrate/plugins/interactive-messages
 * @see https://developers.mattermost.com/integrate/plugins/interactive-dialogs
 */

import type { MattermostTarget, SendOutcome } from "../core/channel.ts";
import {
  type ButtonPressed,
  CHAT_NOTE_CHARS_MAX,
  type ChatEvent,
  type ChatReply,
} from "../core/chat.ts";
import { MATTERMOST_ERRORS, OTHER_CHAT_ERROR } from "../core/chat-errors.ts";
import type {
  CallMessage,
  ChannelMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "./channel-message.ts";
import { type ChatFailure, NOT_VALID, readObject, rejected, updateFailure } from "./chat-answer.ts";
import type { ChatAddresses, ChatAnswer, ChatCall, ChatPlatform } from "./chat-platform.ts";
import { fitArguments, fitLines, LABELS, noteHint, titleOf } from "./chat-text.ts";
import { formatMessage, formatResolved } from "./format-message.ts";
import { linkOf } from "./http-kinds.ts";
import { codeBlock, escapeFences, quoteMarkdown, quoteReply } from "./markdown.ts";
import {
  buttonKey,
  CODE_DIALOG,
  DIALOG_FIELD,
  NOTE_DIALOG,
  readMattermostBody,
  readReplyTo,
  writeState,
} from "./mattermost-events.ts";
import type { ParseUrl, TargetFault } from "./target.ts";

const ID = /^[a-z0-9]{26}$/;

/** Mattermost accepts 16,383 characters. */
const LINES_CHARS_MAX = 3_500;
const ARGUMENTS_CHARS_MAX = 12_200;

const STYLE = { quote: quoteMarkdown, argumentsBytesMax: undefined };

export const mattermostPlatform: ChatPlatform<MattermostTarget> = {
  targetFault,
  decisionFault: () => undefined,
  needsConnection: () => false,
  connect: () => {
    throw new Error("Mattermost sends events over HTTP");
  },
  appSecret: ({ url, token }) => `${url} ${token}`,
  postCall,
  postOutcome,
  updateCall,
  updateOutcome,
  receive: readMattermostBody,
  readPayload: () => "invalid",
  answer,
};

function targetFault(target: MattermostTarget, read: ParseUrl): TargetFault | undefined {
  const { url, token, conversation } = target;
  if (read(url) === undefined || /[?#]/.test(url)) {
    const rule = "must be the https URL of a Mattermost server that this server may send to";
    return { field: "url", rule };
  }
  if (!ID.test(token)) {
    const rule = "must be the access token of a Mattermost bot, of 26 letters and digits";
    return { field: "token", rule };
  }
  if (!ID.test(conversation)) {
    const rule = "must be the id of a Mattermost channel, of 26 letters and digits";
    return { field: "conversation", rule };
  }
  return undefined;
}

// Messages. ------------------------------------------------------------------------------------

function postCall(
  target: MattermostTarget,
  message: ChannelMessage,
  addresses: ChatAddresses,
): ChatCall {
  const body = { channel_id: target.conversation, ...contentOf(target, message, addresses) };
  return callOf("POST", "/posts", target, body, addresses);
}

/** Replaces the whole message. */
function updateCall(
  target: MattermostTarget,
  message: ResolvedMessage | RefreshedMessage,
  addresses: ChatAddresses,
): ChatCall {
  const content =
    message.kind === "resolved"
      ? resolvedContent(message, addresses)
      : contentOf(target, message.call, addresses);
  return callOf("PUT", `/posts/${message.post.id}/patch`, target, content, addresses);
}

function callOf(
  method: ChatCall["method"],
  path: string,
  { token }: MattermostTarget,
  body: object,
  { apiUrl }: ChatAddresses,
): ChatCall {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return { method, url: `${apiUrl}${path}`, headers, body: JSON.stringify(body) };
}

function contentOf(
  target: MattermostTarget,
  message: ChannelMessage,
  addresses: ChatAddresses,
): object {
  // Not in a thread: Mattermost rejects a reply to a deleted post.
  if (message.kind === "decision") return resolvedContent(message, addresses);
  const { projectUrl, eventsUrl } = addresses;
  const { lines } = formatMessage(message, STYLE);
  const call = message.kind === "call" ? message : undefined;
  const reminder = call?.isReminder ? ["**Reminder**"] : [];
  const { text, canApprove } = markdownOf(
    [...reminder, ...lines],
    call,
    linkOf(projectUrl, message),
  );
  const shown = call?.buttons;
  if (shown === undefined) return postOf(text, []);
  const { nonce } = shown;
  const approve = button(target, "approve", nonce, eventsUrl);
  const deny = button(target, "deny", nonce, eventsUrl);
  return postOf(text, canApprove && shown.canApprove ? [approve, deny] : [deny]);
}

function resolvedContent(
  message: Pick<ResolvedMessage, "call" | "outcome">,
  { projectUrl }: ChatAddresses,
): object {
  const { lines } = formatResolved(message, STYLE);
  return postOf(markdownOf(lines, message.call, linkOf(projectUrl, message.call)).text, []);
}

function postOf(message: string, actions: readonly object[]): object {
  // An empty list removes the buttons.
  const attachments = actions.length === 0 ? [] : [{ fallback: "Countersign", actions }];
  return { message, props: { attachments } };
}

interface MarkdownText {
  readonly text: string;
  /** False: the reviewer approves on the page of the request. */
  readonly canApprove: boolean;
}

function markdownOf(
  lines: readonly string[],
  call: CallMessage | undefined,
  link: string,
): MarkdownText {
  const fitted = call && fitArguments(call, escapeFences, ARGUMENTS_CHARS_MAX);
  const block = fitted === undefined ? [] : [`${fitted.label}:`, codeBlock(fitted.shown)];
  const shown = fitLines(lines, LINES_CHARS_MAX);
  const text = [...shown, ...block, `<${link}>`].join("\n");
  return { text, canApprove: fitted?.isWhole !== false };
}

function button(
  target: MattermostTarget,
  verdict: ButtonPressed["verdict"],
  nonce: string,
  url: string,
): object {
  const style = verdict === "approve" ? "success" : "danger";
  const context = { verdict, nonce, key: buttonKey(target, verdict, nonce) };
  const integration = { url, context };
  return { id: verdict, type: "button", name: LABELS[verdict], style, integration };
}

// Outcomes. ------------------------------------------------------------------------------------

function postOutcome(_: MattermostTarget, status: number, body: Uint8Array): SendOutcome {
  const answer = readObject(body);
  if (status >= 300) return rejected(failureOf(status, answer, POST_WORDS));
  const { id, channel_id: place } = answer ?? {};
  if (typeof id !== "string" || !ID.test(id)) return NOT_VALID;
  if (typeof place !== "string" || !ID.test(place)) return NOT_VALID;
  return { kind: "sent", status, post: { id, place } };
}

function updateOutcome(
  { conversation }: MattermostTarget,
  { post }: Pick<ResolvedMessage, "post">,
  status: number,
  body: Uint8Array,
): SendOutcome {
  const answer = readObject(body);
  if (status >= 300) {
    const failure = failureOf(status, answer, UPDATE_WORDS);
    return updateFailure(MATTERMOST_ERRORS, failure, post, conversation);
  }
  return answer === undefined ? NOT_VALID : { kind: "sent", status };
}

const POST_WORDS: Readonly<Record<number, string>> = {
  403: "not_permitted",
  404: "no_such_channel",
};

/** For a deleted post, Mattermost returns the error of a missing permission. */
const UPDATE_WORDS: Readonly<Record<number, string>> = {
  403: "not_editable",
  404: "not_editable",
};

function failureOf(
  status: number,
  answer: ReturnType<typeof readObject>,
  words: Readonly<Record<number, string>>,
): ChatFailure {
  return { status, word: wordOf(status, answer, words), retryAfterMs: undefined };
}

function wordOf(
  status: number,
  answer: ReturnType<typeof readObject>,
  words: Readonly<Record<number, string>>,
): string | undefined {
  if (status === 429) return "mattermost_rate_limited";
  const id = answer?.id;
  // Another server answered, such as a proxy.
  if (typeof id !== "string") return undefined;
  if (status === 401) return "mattermost_unauthorized";
  if (id.includes("can_not_post_to_deleted")) return "channel_archived";
  if (id.includes("time_limit")) return "not_editable";
  return words[status] ?? OTHER_CHAT_ERROR;
}

// Events. --------------------------------------------------------------------------------------

/** Mattermost shows the reply of a dialog in the dialog, and other replies as ephemeral text. */
function answer(
  target: MattermostTarget,
  event: ChatEvent,
  reply: ChatReply,
  addresses: ChatAddresses,
): ChatAnswer {
  if (event.kind === "ping" || event.kind === "ignored") return { body: {}, calls: [] };
  if (event.kind !== "pressed") return { body: dialogAnswer(reply), calls: [] };
  switch (reply.kind) {
    case "none":
      return { body: {}, calls: [] };
    case "done":
    case "refused":
      return { body: { ephemeral_text: quoteReply(reply.text) }, calls: [] };
    case "note_form":
      return openDialog(target, event, noteDialog(target, event, reply), addresses);
    case "code_form":
      return openDialog(target, event, codeDialog(target, event, reply.text), addresses);
  }
}

/** The message shows a verdict, so the dialog closes. */
function dialogAnswer(reply: ChatReply): object {
  if (reply.kind === "refused" || reply.kind === "code_form") {
    return { errors: { [DIALOG_FIELD]: reply.text } };
  }
  return {};
}

function openDialog(
  target: MattermostTarget,
  { replyTo }: ButtonPressed,
  dialog: object,
  addresses: ChatAddresses,
): ChatAnswer {
  const { trigger } = readReplyTo(replyTo);
  const body = { trigger_id: trigger, url: addresses.eventsUrl, dialog };
  const call = callOf("POST", "/actions/dialogs/open", target, body, addresses);
  return { body: {}, calls: [call] };
}

function noteDialog(
  target: MattermostTarget,
  event: ButtonPressed,
  reply: Extract<ChatReply, { readonly kind: "note_form" }>,
): object {
  const element = {
    display_name: LABELS.note,
    name: DIALOG_FIELD,
    type: "textarea",
    optional: !reply.isRequired,
    help_text: noteHint(reply),
    max_length: CHAT_NOTE_CHARS_MAX,
  };
  return {
    callback_id: NOTE_DIALOG,
    title: titleOf(reply),
    introduction_text: quoteMarkdown(reply.title),
    elements: [element],
    submit_label: LABELS[reply.verdict],
    state: writeState(target, NOTE_DIALOG, event),
  };
}

function codeDialog(target: MattermostTarget, event: ButtonPressed, text: string): object {
  const element = {
    display_name: LABELS.code,
    name: DIALOG_FIELD,
    type: "text",
    optional: false,
    max_length: 20,
  };
  return {
    callback_id: CODE_DIALOG,
    title: LABELS.link,
    introduction_text: quoteReply(text),
    elements: [element],
    submit_label: LABELS.link,
    state: writeState(target, CODE_DIALOG, event),
  };
}
