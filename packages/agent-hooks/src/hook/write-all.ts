import { writeSync } from "node:fs";

/** How long to wait for the reader of a full pipe before the next attempt. */
const EAGAIN_MS = 10;

/** The system calls, so that a test needs no full pipe. */
const SYSTEM = {
  write: (file: 1 | 2, bytes: Uint8Array): number => writeSync(file, bytes),
  wait: (ms: number): void => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  },
};

/**
 * Writes a line to stdout or stderr, and blocks the thread until the reader has taken all of it.
 *
 * @returns false when the reader has closed the pipe
 */
export function writeAll(file: 1 | 2, text: string, { write, wait } = SYSTEM): boolean {
  let rest: Uint8Array = Buffer.from(`${text}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(write(file, rest));
    } catch (error) {
      // The pipe is non-blocking and full.
      if (Object(error).code !== "EAGAIN") return false;
      wait(EAGAIN_MS);
    }
  }
  return true;
}
