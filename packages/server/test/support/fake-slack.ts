/**
 * A Slack workspace for tests: the Web API with conversations and messages. It checks tokens,
 * scopes of conversations and the limits of blocks as Slack does.
 *
 * @see https://docs.slack.dev/reference/methods/chat.postMessage
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { createSelfSigned } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";
import { type Received, startTlsReceiver, type TlsReceiver } from "./tls-receiver.ts";

export const BOT_TOKEN = "xoxb-1234567890-SECRETTOKEN";
export const APP_TOKEN = "xapp-1-A0APP-SECRETAPPTOKEN";
export const SIGNING_SECRET = "8f742231b10e8888abcd990000085a50";
export const OPS = "C0OPS00001";
export const TEAM = "T0TEAM0001";

export interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  /** Of the thread that it replies to. */
  readonly thread?: string | undefined;
  text: string;
  blocks: readonly Block[];
  edits: number;
}

export interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string };
  readonly elements?: readonly BlockElement[];
}

export interface BlockElement {
  readonly type?: string;
  readonly elements?: readonly { readonly text: string }[];
  readonly action_id?: string;
  readonly value?: string;
}

/** A message that one user sees. */
export interface Ephemeral {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
}

export interface View {
  readonly callback_id: string;
  readonly private_metadata: string;
  readonly blocks: readonly (Block & { readonly block_id?: string; readonly optional?: boolean })[];
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
  readonly ephemerals: Ephemeral[];
  /** Forms that were opened, with the trigger. */
  readonly views: { readonly trigger: string; readonly view: View }[];
  /** Open connections of Socket Mode, in the order in which they were opened. */
  readonly sockets: FakeSocket[];
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
    ephemerals: [],
    views: [],
    sockets: [],
    archived: new Set(),
    conversations: new Set([OPS]),
    tokens: new Set([BOT_TOKEN, APP_TOKEN]),
    calls: [],
    fault: () => undefined,
  };
  serveSockets(slack);
  return slack;
}

function serve(slack: FakeSlack, received: Received, response: ServerResponse): void {
  const method = received.path.replace(/^\/api\//, "");
  slack.calls.push(method);
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
  readonly thread_ts?: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

function answerOf(slack: FakeSlack, method: string, { headers, body }: Received): object {
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ?? "";
  if (!slack.tokens.has(token)) return failed("invalid_auth");
  if (method === "apps.connections.open") return openConnection(slack, token);
  assert.equal(headers["content-type"], "application/json; charset=utf-8");
  if (method === "views.open") return openView(slack, body);
  const input = JSON.parse(body.toString()) as Input;
  if (!slack.conversations.has(input.channel)) return failed("channel_not_found");
  if (slack.archived.has(input.channel)) return failed("is_archived");
  if (method === "chat.postEphemeral") {
    const { channel, user, text } = JSON.parse(body.toString()) as Ephemeral;
    slack.ephemerals.push({ channel, user, text });
    return { ok: true };
  }
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

function post(slack: FakeSlack, { channel, text, blocks, thread_ts: thread }: Input): object {
  const ts = `1700000000.${String(slack.messages.length + 1).padStart(6, "0")}`;
  slack.messages.push({ channel, ts, thread, text, blocks, edits: 0 });
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
    if (type === "actions") return (elements ?? []).every(isButton);
    const length = text?.text.length ?? 0;
    return type === "section" && length > 0 && length <= SECTION_CHARS_MAX;
  });
}

const VALUE_CHARS_MAX = 2_000;
const METADATA_CHARS_MAX = 3_000;

function isButton({ type, action_id: id = "", value = "" }: BlockElement): boolean {
  return type === "button" && id !== "" && value.length <= VALUE_CHARS_MAX;
}

function openView(slack: FakeSlack, body: Buffer): object {
  const { trigger_id: trigger, view } = JSON.parse(body.toString()) as {
    readonly trigger_id: string;
    readonly view: View;
  };
  if (view.private_metadata.length > METADATA_CHARS_MAX) return failed("invalid_arguments");
  slack.views.push({ trigger, view });
  return { ok: true };
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

// Socket Mode. -----------------------------------------------------------------------------------

export interface FakeSocket {
  readonly socket: WebSocket;
  /** Answers by the id of their envelope. */
  readonly acks: Map<string, { readonly payload?: object }>;
}

/** Tickets of URLs that were not used yet. */
const tickets = new Set<string>();

function openConnection(slack: FakeSlack, token: string): object {
  if (!token.startsWith("xapp-")) return failed("not_allowed_token_type");
  const ticket = `ticket-${slack.calls.length}`;
  tickets.add(ticket);
  const url = slack.receiver.url(`/link?ticket=${ticket}`).replace(/^https:/, "wss:");
  return { ok: true, url };
}

function serveSockets(slack: FakeSlack): void {
  const sockets = new WebSocketServer({ noServer: true });
  slack.receiver.server.on("upgrade", (request, duplex, head) => {
    const ticket = new URL(request.url ?? "", "https://slack.example").searchParams.get("ticket");
    if (!tickets.delete(ticket ?? "")) {
      duplex.destroy();
      return;
    }
    sockets.handleUpgrade(request, duplex, head, (socket) => {
      const acks: FakeSocket["acks"] = new Map();
      slack.sockets.push({ socket, acks });
      socket.on("message", (data) => {
        const ack = JSON.parse(String(data)) as { envelope_id: string; payload?: object };
        acks.set(ack.envelope_id, ack);
      });
      socket.send(JSON.stringify({ type: "hello", num_connections: 1 }));
    });
  });
}

/** Sends a payload over a connection, as an interactive envelope. */
export function sendEnvelope({ socket }: FakeSocket, id: string, payload: object): void {
  const envelope = { envelope_id: id, type: "interactive", accepts_response_payload: true };
  socket.send(JSON.stringify({ ...envelope, payload }));
}

// Users. -----------------------------------------------------------------------------------------

export interface SlackUser {
  readonly id: string;
  readonly team?: string;
  readonly name?: string;
}

let clicks = 0;

/** The payload of a pressed button, as Slack sends it. */
export function pressPayload(
  { channel, ts, blocks }: SlackMessage,
  action: "approve" | "deny",
  { id, team = TEAM, name = id }: SlackUser,
  changes: { readonly value?: string } = {},
): object {
  const actionId = `countersign_${action}`;
  const buttons = blocks.flatMap(({ elements = [] }) => elements);
  const button = buttons.find(({ action_id }) => action_id === actionId);
  const value = changes.value ?? button?.value;
  return {
    type: "block_actions",
    user: { id, username: name, name, team_id: team },
    api_app_id: "A0APP00001",
    token: "legacy",
    container: { type: "message", message_ts: ts, channel_id: channel, is_ephemeral: false },
    trigger_id: `trigger-${++clicks}`,
    team: { id: team, domain: "example" },
    channel: { id: channel, name: "ops" },
    actions: [
      { action_id: actionId, block_id: "b", value, type: "button", action_ts: `1700.${clicks}` },
    ],
  };
}

/** The payload of a form that a user sent. */
export function formPayload(
  { callback_id, private_metadata, blocks }: View,
  text: string,
  { id, team = TEAM, name = id }: SlackUser,
): object {
  const block = blocks.find(({ type }) => type === "input")?.block_id ?? "";
  return {
    type: "view_submission",
    team: { id: team },
    user: { id, username: name, name, team_id: team },
    trigger_id: `trigger-${++clicks}`,
    view: {
      id: `V0${clicks}`,
      callback_id,
      private_metadata,
      state: { values: { [block]: { text: { type: "plain_text_input", value: text } } } },
    },
  };
}

/** The body and headers of a signed HTTP request. */
export function signPayload(payload: object, now: number, secret = SIGNING_SECRET) {
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const timestamp = String(Math.floor(now / 1000));
  const mac = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex");
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "x-slack-request-timestamp": timestamp,
    "x-slack-signature": `v0=${mac}`,
  };
  return { body, headers };
}

/** The action ids of the buttons of a message. */
export function buttonsOf({ blocks }: Pick<SlackMessage, "blocks">): string[] {
  return blocks.flatMap(({ elements = [] }) =>
    elements.flatMap(({ action_id }) => action_id ?? []),
  );
}
