/**
 * A Slack workspace for tests: the Web API with conversations and messages. It checks tokens,
 * scopes of conversations and the limits of blocks as Slack does.
 *
 * @see https://docs.slack.dev/reference/methods/chat.postMessage
 */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { createSelfSigned } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";
import { type Received, startTlsReceiver, type TlsReceiver } from "./tls-receiver.ts";

export const BOT_TOKEN = "xoxb-1234567890-SECRETTOKEN";
export const OPS = "C0OPS00001";

export interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  text: string;
  blocks: readonly Block[];
  edits: number;
}

export interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string };
  readonly elements?: readonly { readonly elements?: readonly { readonly text: string }[] }[];
}

/** An answer instead of the normal one. */
export interface Fault {
  readonly status?: number;
  readonly retryAfter?: string;
  /** An error of the Web API. */
  readonly error?: string;
  /** The message is stored, but the connection ends without an answer. */
  readonly isLost?: boolean;
  /** Nothing is stored or answered. */
  readonly isHeld?: boolean;
}

export interface FakeSlack {
  readonly receiver: TlsReceiver;
  /** For the setting slack_api_url. */
  readonly apiUrl: string;
  readonly messages: SlackMessage[];
  readonly archived: Set<string>;
  /** Conversations with the app. */
  readonly conversations: Set<string>;
  readonly tokens: Set<string>;
  /** Calls so far, such as chat.update. */
  readonly calls: string[];
  /** Consulted before each call. */
  fault: (method: string) => Fault | undefined;
}

const BLOCKS_MAX = 50;
const SECTION_CHARS_MAX = 3_000;

export async function startFakeSlack(
  t: Lifetime,
  identity = createSelfSigned(),
): Promise<FakeSlack> {
  const receiver = await startTlsReceiver(
    t,
    (received, response) => serve(slack, received, response),
    {
      identity,
    },
  );
  const slack: FakeSlack = {
    receiver,
    apiUrl: receiver.url("/api"),
    messages: [],
    archived: new Set(),
    conversations: new Set([OPS]),
    tokens: new Set([BOT_TOKEN]),
    calls: [],
    fault: () => undefined,
  };
  return slack;
}

function serve(slack: FakeSlack, received: Received, response: ServerResponse): void {
  const method = received.path.replace(/^\/api\//, "");
  slack.calls.push(method);
  assert.equal(received.headers["content-type"], "application/json; charset=utf-8");
  const fault = slack.fault(method);
  if (fault?.isHeld === true) return;
  if (fault?.status !== undefined) {
    const headers = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
    response.writeHead(fault.status, headers).end();
    return;
  }
  const answer =
    fault?.error === undefined ? answerOf(slack, method, received) : failed(fault.error);
  if (fault?.isLost === true) response.socket?.destroy();
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
}

function failed(error: string): object {
  return { ok: false, error };
}

interface Input {
  readonly channel: string;
  readonly ts?: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

function answerOf(slack: FakeSlack, method: string, { headers, body }: Received): object {
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
  if (!slack.tokens.has(token)) return failed("invalid_auth");
  const input = JSON.parse(body.toString()) as Input;
  if (!slack.conversations.has(input.channel)) return failed("channel_not_found");
  if (slack.archived.has(input.channel)) return failed("is_archived");
  if (!isValid(input.blocks)) return failed("invalid_blocks");
  switch (method) {
    case "chat.postMessage":
      return post(slack, input);
    case "chat.update":
      return update(slack, input);
    default:
      return failed("unknown_method");
  }
}

function post(slack: FakeSlack, { channel, text, blocks }: Input): object {
  const ts = `1700000000.${String(slack.messages.length + 1).padStart(6, "0")}`;
  slack.messages.push({ channel, ts, text, blocks, edits: 0 });
  return { ok: true, channel, ts, message: { text, blocks } };
}

function update(slack: FakeSlack, { channel, ts, text, blocks }: Input): object {
  const message = slack.messages.find((each) => each.ts === ts && each.channel === channel);
  if (message === undefined) return failed("message_not_found");
  message.text = text;
  message.blocks = blocks;
  message.edits++;
  return { ok: true, channel, ts, text };
}

/** The rules of Block Kit for the types that the server sends. */
function isValid(blocks: readonly Block[]): boolean {
  if (blocks.length === 0 || blocks.length > BLOCKS_MAX) return false;
  return blocks.every(({ type, text, elements }) => {
    if (type === "rich_text") return elements !== undefined && elements.length > 0;
    const length = text?.text.length ?? 0;
    return type === "section" && length > 0 && length <= SECTION_CHARS_MAX;
  });
}

/** The displayed text of a message, one line for each block. */
export function shownText({ blocks }: Pick<SlackMessage, "blocks">): string {
  return blocks
    .map(({ text, elements = [] }) => {
      const parts = elements.flatMap((element) => element.elements ?? []);
      return text?.text ?? parts.map((part) => part.text).join("");
    })
    .join("\n");
}
