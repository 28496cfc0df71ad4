/**
 * The client that started the gateway, on stdin and stdout.
 */

import type { Readable, Writable } from "node:stream";
import { Problem } from "@countersign/protocol";
import type { Channel, ChannelEvents } from "./channel.ts";
import { CODE, errorOf, type Message, readMessages, writeMessage } from "./exact-message.ts";
import { LineWriter, readLines } from "./lines.ts";

export class StdioChannel implements Channel {
  readonly #input: Readable;
  readonly #writer: LineWriter;
  readonly #bytesMax: number;

  constructor(input: Readable, output: Writable, bytesMax: number) {
    this.#input = input;
    this.#writer = new LineWriter(output);
    this.#bytesMax = bytesMax;
  }

  async start(events: ChannelEvents): Promise<void> {
    this.#read(events).then(
      () => events.ended("the client closed its end"),
      (error: unknown) => events.ended(`the client could not be read: ${String(error)}`),
    );
  }

  send(message: Message): Promise<void> {
    return this.#writer.write(writeMessage(message));
  }

  async close(): Promise<void> {
    this.#input.destroy();
  }

  async #read(events: ChannelEvents): Promise<void> {
    for await (const line of readLines(this.#input, this.#bytesMax)) {
      try {
        for (const message of readMessages(line)) events.message(message);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        // The requested operation is unknown: it was not run.
        const code = error.code === "invalid_request" ? CODE.invalidRequest : CODE.parse;
        const reply = errorOf(code, error.message);
        await this.send({ kind: "response", id: "null", ...reply });
      }
    }
  }
}
