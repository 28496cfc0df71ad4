/**
 * The streams of one command. Results go to stdout, everything else to stderr, so that a script
 * can use the one without the other.
 */

import { EXIT } from "./exit.ts";

export interface Terminal {
  out(text: string): void;
  note(text: string): void;
  /** Whether a person sees what `out` writes. */
  readonly isInteractive: boolean;
  /** Asks a person a question. */
  ask(question: string): Promise<string>;
  readonly columns: number;
  readonly rows: number;
}

export const processTerminal: Terminal = {
  out: (text) => write(process.stdout, text, () => process.exit(EXIT.done)),
  note: (text) => write(process.stderr, text, () => {}),
  get isInteractive() {
    return process.stdin.isTTY === true && process.stdout.isTTY === true;
  },
  async ask(question) {
    const { createInterface } = await import("node:readline/promises");
    const line = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await line.question(question);
    } finally {
      line.close();
    }
  },
  get rows() {
    return process.stdout.rows ?? 24;
  },
  get columns() {
    return process.stdout.columns ?? 100;
  },
};

/** @param unread whoever read the stream has gone, as `head` does when it has enough */
function write(stream: NodeJS.WriteStream, text: string, unread: () => void): void {
  if (stream.listenerCount("error") === 0) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      unread();
    });
  }
  stream.write(`${text}\n`);
}
