/** Appends batches of audit entries to a file, or to standard output, as JSON lines. */

import { open } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import type { SendOutcome } from "../core/channel.ts";
import type { AuditBatch, AuditSink } from "./audit-sink.ts";

/** Writes text that ends with a line break. Rejects when it was not written. */
export type AppendText = (text: string) => Promise<void>;

export class FileAuditSink implements AuditSink {
  readonly kind = "file";
  readonly #clock: Clock;
  readonly #append: AppendText;
  /** A blocked write holds a thread of the process, so only one may be in progress. */
  #isWriting = false;

  constructor(clock: Clock, append: AppendText) {
    this.#clock = clock;
    this.#append = append;
  }

  async send({ lines, timeoutMs, isWanted }: AuditBatch): Promise<SendOutcome> {
    if (this.#isWriting) return BLOCKED;
    if (!(await isWanted(timeoutMs))) return { kind: "unwanted" };
    this.#isWriting = true;
    const written = this.#append(`${lines.join("\n")}\n`)
      .then(() => WRITTEN, toFailure)
      .finally(() => {
        this.#isWriting = false;
      });
    return this.#within(timeoutMs, written);
  }

  close(): void {}

  async #within(ms: number, written: Promise<SendOutcome>): Promise<SendOutcome> {
    const late = Promise.withResolvers<SendOutcome>();
    const cancel = this.#clock.after(ms, () => late.resolve(BLOCKED));
    try {
      return await Promise.race([written, late.promise]);
    } finally {
      cancel();
    }
  }
}

const WRITTEN: SendOutcome = { kind: "sent", status: 0 };

const BLOCKED: SendOutcome = { kind: "unreachable", reason: "blocked" };

function toFailure(error: unknown): SendOutcome {
  const { code } = Object(error) as NodeJS.ErrnoException;
  return { kind: "unreachable", reason: typeof code === "string" ? code : "internal" };
}

const NEWLINE = 0x0a;

/**
 * Appends to the file at this path, and creates it if necessary. It opens the file each time, so a
 * program that rotates it can rename it. Resolves when the text is on the disk.
 */
export function appendToFile(path: string): AppendText {
  return async (text) => {
    const file = await open(path, "a+", 0o600);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw Object.assign(new Error("not a file"), { code: "not_a_file" });
      const { size } = stats;
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
      // A crash has cut off the last line. Its entry follows again.
      const isCut = size > 0 && buffer[0] !== NEWLINE;
      await file.writeFile(isCut ? `\n${text}` : text);
      await file.datasync();
    } finally {
      await file.close();
    }
  };
}
