/**
 * Messages of Slack apps: calls of the Web API with blocks, and their answers.
 *
 * Names are inline code in mrkdwn, and arguments are preformatted rich text. Slack interprets no
 * mention, link or formatting in either.
 *
 * @see https://docs.slack.dev/reference/block-kit/blocks
 */

import type { SendOutcome, SlackAppTarget } from "../core/channel.ts";
import { isChannelFault, isMessageGone, knownSlackError } from "../core/slack-errors.ts";
import type { CallMessage, ChannelMessage, ResolvedMessage } from "./channel-message.ts";
import { excerptArguments, formatMessage, formatResolved } from "./format-message.ts";
import { escapeSlack, linkOf, quoteSlack } from "./http-kinds.ts";
import { isSlackChannel } from "./target.ts";

/** One call of the Web API. */
export interface SlackCall {
  readonly method: "chat.postMessage" | "chat.update";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const ARGUMENTS_BYTES_MAX = 2_000;

/** Maximum characters of the text of a section. */
const SECTION_CHARS_MAX = 3_000;

const STYLE = { quote: quoteSlack, argumentsBytesMax: undefined };

export function postMessageCall(
  { token, slackChannel }: SlackAppTarget,
  message: ChannelMessage,
  base: string,
): SlackCall {
  const { title, lines } = formatMessage(message, STYLE);
  const reminder = message.kind === "call" && message.isReminder ? ["*Reminder*"] : [];
  const sections = [...reminder, ...lines];
  const call = message.kind === "call" ? message : undefined;
  const content = contentOf(title, sections, call, linkOf(base, message));
  const sent = { channel: slackChannel, ...content, unfurl_links: false, unfurl_media: false };
  return callOf("chat.postMessage", token, sent);
}

/** Replaces the whole message. */
export function updateMessageCall(
  { token }: SlackAppTarget,
  message: ResolvedMessage,
  base: string,
): SlackCall {
  const { title, lines } = formatResolved(message, STYLE);
  const content = contentOf(title, lines, message.call, linkOf(base, message.call));
  const { id, place } = message.post;
  return callOf("chat.update", token, { channel: place, ts: id, ...content });
}

function callOf(method: SlackCall["method"], token: string, body: object): SlackCall {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json; charset=utf-8",
  };
  return { method, headers, body: JSON.stringify(body) };
}

/** @param title for notifications and screen readers, which do not read blocks */
function contentOf(
  title: string,
  lines: readonly string[],
  call: CallMessage | undefined,
  link: string,
): object {
  const blocks = [...lines.map(section), ...argumentBlocks(call), section(escapeSlack(link))];
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
  const { label, shown } = excerptArguments(call.argumentsText, ARGUMENTS_BYTES_MAX);
  const text = { type: "text", text: shown };
  const preformatted = { type: "rich_text_preformatted", elements: [text] };
  return [section(`${label}:`), { type: "rich_text", elements: [preformatted] }];
}

interface SlackAnswer {
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly ts?: unknown;
  readonly channel?: unknown;
}

const TS = /^\d{1,12}\.\d{1,9}$/;

/** The result of chat.postMessage. Slack answers most errors with status 200. */
export function postOutcome(status: number, body: Uint8Array): SendOutcome {
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
export function updateOutcome(
  { slackChannel }: SlackAppTarget,
  { post }: ResolvedMessage,
  status: number,
  body: Uint8Array,
): SendOutcome {
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
