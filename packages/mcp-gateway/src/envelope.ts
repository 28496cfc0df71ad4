/**
 * Exact texts through the SDK's Streamable HTTP transports. They read and write with `JSON.parse`
 * and `JSON.stringify`, which round numbers; but to carry a message they need little of it. So
 * they are given envelopes: the members that they read, and the exact text of all the rest as one
 * string, which no parser changes. At the edge of the process, before anything is sent and when it
 * arrives, envelopes become messages and messages envelopes.
 *
 * @see ADR 0021
 */

import { JsonObject } from "@countersign/protocol";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { EventSourceParserStream } from "eventsource-parser/stream";
import {
  type Message,
  objectIn,
  type Received,
  type RequestMessage,
  textIn,
  writeMessage,
} from "./exact-message.ts";

/** The member that holds a message's exact text. */
const TEXT = "countersign/text";

export function seal(message: Message | Received): JSONRPCMessage {
  const letter = { [TEXT]: writeMessage(message) };
  const jsonrpc = "2.0";
  if (message.kind === "notification") return { jsonrpc, method: message.method, params: letter };
  const id = JSON.parse(message.id) as string | number;
  if (message.kind === "request") {
    const params = { ...letter, ...openingOf(message) };
    return { jsonrpc, id, method: message.method, params };
  }
  return message.outcome === "result"
    ? { jsonrpc, id, result: letter }
    : { jsonrpc, id, error: { code: 0, message: "", data: letter } };
}

/** A transport reads the content of the message that opens a session, and of no other. */
function openingOf({ method, params }: RequestMessage): object {
  // Transports do not read the content of outgoing messages.
  if (method !== "initialize" || !(params instanceof JsonObject)) return {};
  const version = textIn(params, "protocolVersion");
  if (version === undefined || objectIn(params, "clientInfo") === undefined) return {};
  return {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: "client", version: "0" },
  };
}

/** @returns the exact text; undefined for what the transport says by itself */
export function unseal(envelope: unknown): string | undefined {
  const { params, result, error } = Object(envelope) as Record<string, unknown>;
  const holder = params ?? result ?? (Object(error) as Record<string, unknown>).data;
  const text = (Object(holder) as Record<string, unknown>)[TEXT];
  return typeof text === "string" ? text : undefined;
}

export interface EventRewriting {
  /** The replacement of an event's data: one event for each returned text. */
  rewrite(data: string): readonly string[];
  /** An event had an id: the stream can be taken up again. */
  resumable(): void;
  /** Nothing comes any more, for whatever reason. */
  ended(): void;
}

/**
 * An event stream whose data is rewritten, event by event; ids and pauses are kept.
 *
 * @param charsMax of one event; a longer one breaks the stream
 */
export function rewriteEvents(
  stream: ReadableStream<Uint8Array>,
  charsMax: number,
  by: EventRewriting,
): ReadableStream<Uint8Array> {
  return ReadableStream.from(rewritten(stream, charsMax, by)).pipeThrough(new TextEncoderStream());
}

async function* rewritten(
  stream: ReadableStream<Uint8Array>,
  charsMax: number,
  by: EventRewriting,
): AsyncGenerator<string> {
  let pause = "";
  const parser = new EventSourceParserStream({
    maxBufferSize: charsMax,
    onRetry: (ms) => {
      pause = `retry: ${ms}\n`;
    },
  });
  const decoder = new TextDecoderStream("utf-8", { fatal: true }) as Decoding;
  try {
    for await (const { id, event, data } of stream.pipeThrough(decoder).pipeThrough(parser)) {
      if (id !== undefined) by.resumable();
      const head = `${event ? `event: ${event}\n` : ""}${id ? `id: ${id}\n` : ""}${pause}`;
      pause = "";
      for (const text of data === "" ? [""] : by.rewrite(data)) yield `${head}data: ${text}\n\n`;
    }
  } finally {
    by.ended();
  }
}

type Decoding = ReadableWritablePair<string, Uint8Array>;
