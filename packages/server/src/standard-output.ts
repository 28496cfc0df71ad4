/**
 * Standard output for log lines, written in blocks: a server under load writes many lines at once,
 * and one that is idle does not wake up.
 */

import { type DestinationStream, destination } from "pino";

/** Destination of the log, and of text between its lines. */
export interface LogOutput {
  readonly stream: DestinationStream;
  /** Resolves when everything is written or cannot be written. */
  flush(): Promise<void>;
  /**
   * Writes complete lines between lines of the log.
   *
   * @throws when they were not written
   */
  print(text: string): Promise<void>;
}

type Output = ReturnType<typeof destination>;

/** A line waits at most this long for its block. */
const FLUSH_MS = 250;
const BLOCK_BYTES = 8_192;
/** Size of the buffer. Beyond it, lines are dropped: a blocked log must not stop the server. */
const BACKLOG_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The first flush completes an earlier write, and the second writes the rest. A third one writes
 * the lines of a write that failed.
 */
const FLUSHES = 3;

/**
 * A synchronous flush retries forever on a full disk or a closed pipe. So `flush` is asynchronous,
 * and nothing flushes synchronously after the first error.
 */
export function openStandardOutput(): LogOutput {
  const stream = destination({
    dest: 1,
    sync: false,
    minLength: BLOCK_BYTES,
    maxLength: BACKLOG_BYTES_MAX,
  });
  flushAfterLines(stream);
  flushSyncUntilError(stream);
  return {
    stream,
    async flush() {
      for (let i = 0; i < FLUSHES; i++) await flush(stream);
    },
    print: (text) => printLines(stream, text),
  };
}

/**
 * Writes each line soon, also after a failed write. The option `periodicFlush` of the stream would
 * wake an idle process four times a second.
 */
function flushAfterLines(stream: Output): void {
  const write = stream.write.bind(stream);
  let isArmed = false;
  let hasNewLine = false;
  const flushNow = () => {
    isArmed = false;
    stream.flush();
  };
  const flushSoon = () => {
    if (!isArmed) setTimeout(flushNow, FLUSH_MS).unref();
    isArmed = true;
  };
  stream.write = (line) => {
    hasNewLine = true;
    flushSoon();
    return write(line);
  };
  // A flush during a write has no effect on the lines that arrived meanwhile.
  stream.on("drain", () => {
    if (hasNewLine) flushSoon();
    hasNewLine = false;
  });
  stream.on("error", ({ code }: NodeJS.ErrnoException) => {
    // Without a reader, no write can succeed.
    if (code !== "EPIPE") flushSoon();
  });
}

/** pino flushes synchronously when the process exits. */
function flushSyncUntilError(stream: Output): void {
  const flushSync = stream.flushSync.bind(stream);
  let hasFailed = false;
  stream.on("error", () => {
    hasFailed = true;
  });
  stream.flushSync = () => {
    if (!hasFailed) flushSync();
  };
}

function flush(stream: Output): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => stream.flush((error) => resolve(error ?? undefined)));
}

/** @throws when the buffer of the stream was full, or the write failed */
async function printLines(stream: Output, text: string): Promise<void> {
  let isDropped = false;
  const onDrop = () => {
    isDropped = true;
  };
  stream.once("drop", onDrop);
  stream.write(text);
  stream.off("drop", onDrop);
  if (isDropped) throw Object.assign(new Error("standard output is blocked"), { code: "EAGAIN" });
  for (let i = 0; i < FLUSHES; i++) {
    const error = await flush(stream);
    // Not every kind of output supports fsync, and the text is written by then.
    if (error !== undefined && error.syscall !== "fsync") throw error;
  }
}
