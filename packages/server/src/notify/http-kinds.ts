/**
 * Formats of HTTP channels: signed webhooks, incoming webhooks of Slack and compatible products,
 * and topics of ntfy.
 */

import { escapeCodePoint, formatTimestamp, WEBHOOK_HEADERS } from "@countersign/protocol";
import type { CallMessage, CallOutcome, ChannelMessage } from "./channel-message.ts";
import { formatMessage, quotePlain } from "./format-message.ts";

/** A message for the egress client. */
export interface HttpMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_TYPE = { "content-type": "application/json" };

/**
 * The page of the announced request. Opening a link never decides.
 *
 * @param base URL of the project in the console
 */
export function linkOf(base: string, message: ChannelMessage): string {
  if (message.kind === "call") return `${base}/inbox/${message.requestId}`;
  if (message.kind === "decision") return `${base}/inbox/${message.call.requestId}`;
  return `${base}/inbox`;
}

// Slack. ---------------------------------------------------------------------------------------

const SLACK_ARGUMENTS_BYTES_MAX = 2_000;

/**
 * Slack and Mattermost interpret no mention, link or formatting within code.
 *
 * @see https://docs.slack.dev/messaging/formatting-message-text
 */
export function quoteSlack(visible: string): string {
  return `\`${escapeSlack(visible.replace(/`/g, escapeCodePoint))}\``;
}

export function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function slackMessage(message: ChannelMessage, base: string): HttpMessage {
  const style = { quote: quoteSlack, argumentsBytesMax: SLACK_ARGUMENTS_BYTES_MAX };
  const { lines } = formatMessage(message, style);
  const reminder = message.kind === "call" && message.isReminder ? ["*Reminder*"] : [];
  const text = [...reminder, ...lines, escapeSlack(linkOf(base, message))].join("\n");
  const body = JSON.stringify({ text, unfurl_links: false, unfurl_media: false });
  return { headers: JSON_TYPE, body };
}

// Microsoft Teams. -------------------------------------------------------------------------------

/** Teams rejects messages above 28 KB. */
const TEAMS_ARGUMENTS_BYTES_MAX = 2_000;

/**
 * A card for a webhook of Teams Workflows. Teams interprets no markup in the text runs of a
 * RichTextBlock.
 *
 * @see https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors
 * @see https://adaptivecards.io/explorer/RichTextBlock.html
 */
export function teamsMessage(message: ChannelMessage, base: string): HttpMessage {
  const style = { quote: quotePlain, argumentsBytesMax: TEAMS_ARGUMENTS_BYTES_MAX };
  const { title, lines } = formatMessage(message, style);
  const card = {
    type: "AdaptiveCard",
    version: "1.4",
    body: [textRun(title, { weight: "Bolder" }), ...lines.map((line) => textRun(line))],
    actions: [{ type: "Action.OpenUrl", title: "Open in Countersign", url: linkOf(base, message) }],
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  const attachments = [{ contentType, content: card }];
  return { headers: JSON_TYPE, body: JSON.stringify({ type: "message", attachments }) };
}

function textRun(text: string, format: object = {}): object {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text, ...format }] };
}

// ntfy. ----------------------------------------------------------------------------------------

/** Longer messages become attachments. */
const NTFY_ARGUMENTS_BYTES_MAX = 1_500;

const URGENT_MS = 5 * 60_000;
const HIGH_MS = 15 * 60_000;

/** Names are ASCII or an encoded word, which cannot be mistaken for another one. */
export function ntfyMessage(
  message: ChannelMessage,
  base: string,
  token: string | undefined,
): HttpMessage {
  const style = { quote: quotePlain, argumentsBytesMax: NTFY_ARGUMENTS_BYTES_MAX };
  const { title, lines } = formatMessage(message, style);
  return {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      title: encodeHeader(title),
      priority: String(priorityOf(message)),
      click: new URL(linkOf(base, message)).href,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: lines.join("\n"),
  };
}

/** 5 rings through where the phone allows that; 3 is as usual. */
function priorityOf(message: ChannelMessage): number {
  if (message.kind === "test" || message.kind === "decision") return 3;
  const deadlineAt = message.kind === "call" ? message.deadlineAt : message.earliestDeadlineAt;
  const leftMs = deadlineAt - message.now;
  return leftMs <= URGENT_MS ? 5 : leftMs <= HIGH_MS ? 4 : 3;
}

const ENCODED_BYTES_MAX = 45;

/**
 * A header as printable ASCII: as it is, or in encoded words where it is none or looks like one.
 *
 * @see RFC 2047 section 2
 */
export function encodeHeader(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text) && !text.includes("=?")) return text;
  const words: string[] = [];
  let word = "";
  for (const character of text) {
    if (Buffer.byteLength(word + character) > ENCODED_BYTES_MAX) {
      words.push(word);
      word = "";
    }
    word += character;
  }
  return [...words, word]
    .map((each) => `=?UTF-8?B?${Buffer.from(each).toString("base64")}?=`)
    .join(" ");
}

// Generic webhook. -----------------------------------------------------------------------------

const WEBHOOK_ARGUMENTS_CHARS_MAX = 8_192;
const REQUEST_IDS_MAX = 100;

/** @param sign gives the signature of id, Unix seconds and body */
export function webhookMessage(
  message: ChannelMessage,
  base: string,
  sign: (id: string, timestampS: number, body: string) => string,
): HttpMessage {
  const { id, now } = message;
  const body = JSON.stringify({
    id,
    type: typeOf(message),
    created_at: formatTimestamp(now),
    text: textOf(message),
    url: linkOf(base, message),
    ...contentOf(message),
  });
  const timestampS = Math.floor(now / 1000);
  return {
    headers: {
      ...JSON_TYPE,
      [WEBHOOK_HEADERS.id]: id,
      [WEBHOOK_HEADERS.timestamp]: String(timestampS),
      [WEBHOOK_HEADERS.signature]: sign(id, timestampS, body),
    },
    body,
  };
}

function typeOf(message: ChannelMessage): string {
  if (message.kind === "test") return "channel.test";
  if (message.kind === "digest") return "requests.waiting";
  if (message.kind === "decision") return "request.resolved";
  if (message.isEscalation) return "request.escalated";
  return message.isReminder ? "request.reminder" : "request.waiting";
}

/** One line that can be shown as it is. */
function textOf(message: ChannelMessage): string {
  return formatMessage(message, { quote: quotePlain, argumentsBytesMax: 0 }).title;
}

function contentOf(message: ChannelMessage): object {
  if (message.kind === "test") return {};
  if (message.kind === "digest") {
    const { requestIds, isMore, earliestDeadlineAt, now } = message;
    return {
      count: requestIds.length,
      is_more: isMore,
      earliest_deadline_at: formatTimestamp(earliestDeadlineAt),
      seconds_left: secondsLeft(earliestDeadlineAt, now),
      request_ids: requestIds.slice(0, REQUEST_IDS_MAX),
    };
  }
  if (message.kind === "decision") {
    return { request: requestOf(message.call), decision: decisionOf(message.outcome) };
  }
  return { request: requestOf(message) };
}

function decisionOf({ status, decidedAt, actor, decider, note }: CallOutcome): object {
  const at = formatTimestamp(decidedAt);
  return { status, decided_at: at, decided_by: actor, decider, note };
}

function requestOf(message: CallMessage): object {
  const { tool, server, instance, createdAt, deadlineAt, now, note, because, approvals } = message;
  return {
    id: message.requestId,
    tool,
    server,
    instance,
    created_at: formatTimestamp(createdAt),
    deadline_at: formatTimestamp(deadlineAt),
    seconds_left: secondsLeft(deadlineAt, now),
    because,
    note,
    approvals_needed: approvals.needed,
    approvals_given: approvals.given,
    from: approvals.from,
    ...(message.escalatedTo.length > 0 && { escalated_to: message.escalatedTo }),
    ...argumentsOf(message.argumentsText),
  };
}

function argumentsOf(text: string | undefined): object {
  if (text === undefined) return {};
  const characters = [...text];
  const shown = characters.slice(0, WEBHOOK_ARGUMENTS_CHARS_MAX).join("");
  const isWhole = characters.length <= WEBHOOK_ARGUMENTS_CHARS_MAX;
  return { arguments_text: shown, arguments_whole: isWhole, arguments_chars: characters.length };
}

function secondsLeft(at: number, now: number): number {
  return Math.max(0, Math.floor((at - now) / 1000));
}
