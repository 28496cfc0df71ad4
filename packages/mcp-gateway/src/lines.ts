/**
 * Messages in lines, as MCP sends them over stdio. Lines are bounded, bytes must be UTF-8, and
 * a slow reader holds back the writer.
 */

import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

const NEWLINE = 0x0a;

/**
 * @throws Error when a line is longer, or the bytes are not valid text; the stream's error
 */
export async function* readLines(
  stream: Readable,
  bytesMax: number,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      pieces.push(rest.subarray(0, end));
      if (length + end > bytesMax) throw tooLong(bytesMax);
      const line = decoder.decode(Buffer.concat(pieces)).trim();
      if (line !== "") yield line;
      rest = rest.subarray(end + 1);
      pieces = [];
      length = 0;
    }
    length += rest.length;
    if (length > bytesMax) throw tooLong(bytesMax);
    if (rest.length > 0) pieces.push(rest);
  }
}

function tooLong(bytesMax: number): Error {
  return new Error(`a message is longer than ${bytesMax} bytes`);
}

/** Lines of a stream that the other side may close at any time. */
export class LineWriter {
  readonly #stream: Writable;
  readonly #gone = new AbortController();

  constructor(stream: Writable) {
    this.#stream = stream;
    // The reader is gone: the end of its output, or of the process, reports that.
    stream.on("error", () => this.#gone.abort());
    stream.on("close", () => this.#gone.abort());
  }

  /** @throws when the other side has closed */
  async write(line: string): Promise<void> {
    if (this.#gone.signal.aborted || !this.#stream.writable) throw new Error("it was closed");
    if (this.#stream.write(`${line}\n`)) return;
    await once(this.#stream, "drain", { signal: this.#gone.signal });
  }
}
