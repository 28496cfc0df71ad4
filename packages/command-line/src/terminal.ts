/**
 * The streams of one command. Results go to stdout and everything else to stderr, so that a script
 * can read the results alone.
 */

import { EXIT } from "./exit.ts";

export interface Terminal {
  out(text: string): void;
  note(text: string): void;
  /** Shows a line that the next one replaces. Does nothing when stderr is not a terminal. */
  status(text: string): void;
  /** Whether stdin and stdout are a terminal. */
  readonly isInteractive: boolean;
  /** Whether stdout is a terminal. */
  readonly hasScreen: boolean;
  /**
   * Asks the user a question.
   *
   * @param signal withdraws the question
   * @throws AbortError when the user presses Ctrl-C or Ctrl-D, or the signal is aborted
   */
  ask(question: string, signal?: AbortSignal): Promise<string>;
  /** Asks for a secret: the terminal does not show what the user types. */
  askSecret(question: string): Promise<string>;
  readonly columns: number;
  readonly rows: number;
}

/** Whether the last line of the screen is a status line. */
let hasStatus = false;

const CLEAR_LINE = "\r\x1b[K";

function clearStatus(): void {
  if (hasStatus) process.stderr.write(CLEAR_LINE);
  hasStatus = false;
}

export const processTerminal: Terminal = {
  out(text) {
    clearStatus();
    write(process.stdout, text, () => process.exit(EXIT.done));
  },
  note(text) {
    clearStatus();
    write(process.stderr, text, () => {});
  },
  status(text) {
    if (process.stderr.isTTY !== true) return;
    process.stderr.write(CLEAR_LINE + text);
    hasStatus = true;
  },
  get isInteractive() {
    return process.stdin.isTTY === true && process.stdout.isTTY === true;
  },
  get hasScreen() {
    return process.stdout.isTTY === true;
  },
  async ask(question, signal) {
    const { createInterface } = await import("node:readline/promises");
    const line = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await line.question(question, signal === undefined ? {} : { signal });
    } catch (error) {
      // Ctrl-C or Ctrl-D: the next message starts on a new line.
      process.stderr.write("\n");
      throw error;
    } finally {
      line.close();
    }
  },
  async askSecret(question) {
    const { createInterface } = await import("node:readline/promises");
    const { Writable } = await import("node:stream");
    // readline echoes its input to its output, so the question is written to stderr instead. The
    // terminal itself stops to echo when the interface is created, before the question appears.
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const line = createInterface({ input: process.stdin, output, terminal: true });
    process.stderr.write(question);
    try {
      return await line.question("");
    } finally {
      line.close();
      process.stderr.write("\n");
    }
  },
  get rows() {
    return process.stdout.rows ?? 24;
  },
  get columns() {
    return process.stdout.columns ?? 100;
  },
};

/** @param unread the reader has closed the stream, as `head` does */
function write(stream: NodeJS.WriteStream, text: string, unread: () => void): void {
  if (stream.listenerCount("error") === 0) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      unread();
    });
  }
  stream.write(`${text}\n`);
}
