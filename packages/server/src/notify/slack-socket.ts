/**
 * Socket Mode of Slack: events over a WebSocket that the server opens, without an inbound address.
 * The connection passes the outbound guard.
 *
 * @see https://docs.slack.dev/apis/events-api/using-socket-mode
 */

import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { SlackAppTarget } from "../core/channel.ts";
import { knownSlackError } from "../core/slack-errors.ts";
import type { ChatAddresses, ChatConnection, ChatConnector, ChatHandler } from "./chat-platform.ts";

const OPEN_MS = 8_000;

/** Slack sends a ping more often than this. */
const SILENCE_MS_MAX = 60_000;

const PAYLOAD_BYTES_MAX = 1_048_576;

/** Opens a connection. Its end is not an error: Slack refreshes each one after some hours. */
export function openSlackSocket(
  target: SlackAppTarget,
  connector: ChatConnector,
  handler: ChatHandler,
  addresses: ChatAddresses,
): ChatConnection {
  const ended = new AbortController();
  const closed = run(target, connector, handler, addresses, ended.signal);
  return { closed, close: () => ended.abort() };
}

async function run(
  target: SlackAppTarget,
  connector: ChatConnector,
  handler: ChatHandler,
  addresses: ChatAddresses,
  signal: AbortSignal,
): Promise<string> {
  const ticket = await requestUrl(target, connector, addresses);
  if ("error" in ticket) return ticket.error;
  // The guard checks https URLs. A WebSocket starts as an HTTPS request to the same host.
  const duplex = await connector.dial(ticket.url.replace(/^wss:/, "https:"), OPEN_MS);
  if (duplex === undefined) return "unreachable";
  if (signal.aborted) {
    duplex.destroy();
    return "closed";
  }
  return listen(await openSocket(ticket.url, duplex), connector, handler, signal);
}

type Ticket = { readonly url: string } | { readonly error: string };

/** Requests the URL of a new connection. It contains a secret and can be used once. */
async function requestUrl(
  { appToken }: SlackAppTarget,
  { call }: ChatConnector,
  { apiUrl }: ChatAddresses,
): Promise<Ticket> {
  const headers = {
    authorization: `Bearer ${appToken}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  const url = `${apiUrl}/apps.connections.open`;
  const result = await call({ method: "POST", url, headers, body: "" }, OPEN_MS);
  if (result === undefined || result.status >= 300) return { error: "unreachable" };
  const { body } = result;
  try {
    const answer = JSON.parse(Buffer.from(body).toString("utf8")) as Record<string, unknown>;
    if (answer.ok !== true) return { error: knownSlackError(answer.error) };
    if (typeof answer.url === "string" && answer.url.startsWith("wss://")) {
      return { url: answer.url };
    }
  } catch {
    // Not JSON.
  }
  return { error: "protocol" };
}

async function openSocket(url: string, duplex: Duplex): Promise<WebSocket> {
  // Loaded on demand: most servers open no connection.
  const { WebSocket } = await import("ws");
  return new WebSocket(url, {
    createConnection: () => duplex,
    followRedirects: false,
    handshakeTimeout: OPEN_MS,
    maxPayload: PAYLOAD_BYTES_MAX,
    perMessageDeflate: false,
  });
}

/** @returns why the connection ended */
function listen(
  socket: WebSocket,
  { clock }: ChatConnector,
  handler: ChatHandler,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let cancel = () => {};
  const heard = () => {
    cancel();
    cancel = clock.after(SILENCE_MS_MAX, () => end("silent"));
  };
  const end = (why: string) => {
    cancel();
    signal.removeEventListener("abort", onAbort);
    socket.terminate();
    resolve(why);
  };
  const onAbort = () => end("closed");
  signal.addEventListener("abort", onAbort, { once: true });
  heard();
  socket.on("ping", heard);
  socket.on("error", () => end("unreachable"));
  socket.on("close", () => end("closed"));
  socket.on("message", (data) => {
    heard();
    receive(socket, String(data), handler, end).catch(() => end("internal"));
  });
  return promise;
}

interface Envelope {
  readonly type?: unknown;
  readonly envelope_id?: unknown;
  readonly payload?: unknown;
}

async function receive(
  socket: WebSocket,
  text: string,
  handler: ChatHandler,
  end: (why: string) => void,
): Promise<void> {
  const envelope = parse(text);
  if (envelope === undefined) return end("protocol");
  const { type, envelope_id: id, payload } = envelope;
  if (type === "hello") return handler.onConnected();
  // Slack asks for another connection before it closes this one.
  if (type === "disconnect") return end("refresh");
  if (typeof id !== "string") return;
  const body = type === "interactive" ? await handler.onPayload(payload) : undefined;
  const answer = { envelope_id: id, ...(body !== undefined && { payload: body }) };
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(answer));
}

function parse(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
