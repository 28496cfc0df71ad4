/**
 * Serves a receiver with Node's own `http` or `https` server.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Receiver } from "./receiver.ts";
import { WEBHOOK_BYTES_MAX } from "./webhook-message.ts";

/** Answers one webhook, for `createServer` or a route. The request body must be unread. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Creates a request handler of Node's `http` server for a receiver. */

export function nodeHandler(receiver: Pick<Receiver, "fetch">): NodeHandler {
  return (request, response) => {
    // If the client disconnects early, only its connection closes.
    answer(receiver, request, response).catch(() => response.destroy());
  };
}

async function answer(
  receiver: Pick<Receiver, "fetch">,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBytes(request);
  const { status, headers, ...rest } =
    body === undefined
      ? { status: 400, headers: new Headers(), text: "" }
      : await send(receiver, request, body);
  // The rest of the body stays unread, so the connection cannot be reused.
  if (body === undefined) headers.set("connection", "close");
  response.writeHead(status, Object.fromEntries(headers)).end(rest.text || undefined);
}

async function send(receiver: Pick<Receiver, "fetch">, request: IncomingMessage, body: Buffer) {
  const { method = "GET", headersDistinct } = request;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const init = { method, headers, ...(hasBody && { body: new Uint8Array(body) }) };
  // A Request needs a URL. The receiver checks the signature, not the URL.
  const response = await receiver.fetch(new Request("http://receiver.invalid/", init));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** @returns undefined for a body above the size limit */
async function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > WEBHOOK_BYTES_MAX) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
