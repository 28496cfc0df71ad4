/**
 * The streams of one command. Results go to stdout, everything else to stderr, so that a script
 * can use the one without the other.
 */

export interface Terminal {
  out(text: string): void;
  note(text: string): void;
  /** Whether a person sees what `out` writes. */
  readonly isInteractive: boolean;
  /** Asks a person a question. */
  ask(question: string): Promise<string>;
  readonly columns: number;
}

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
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
  get columns() {
    return process.stdout.columns ?? 100;
  },
};
