/**
 * Writes lines as fast as the reader takes them: to a file, or to stdout.
 */

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { EXIT } from "@countersign/command-line";

/** @param file undefined for stdout; one that is there is replaced */
export async function writeLines(
  lines: AsyncIterable<string>,
  file: string | undefined,
): Promise<number> {
  const stream = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  stream.once("error", (error: NodeJS.ErrnoException) => {
    // The reader of stdout has ended, as `head` does.
    if (file === undefined && error.code === "EPIPE") process.exit(EXIT.done);
    failed.reject(error);
  });
  let count = 0;
  for await (const line of lines) {
    count++;
    if (!stream.write(`${line}\n`)) await Promise.race([once(stream, "drain"), failed.promise]);
  }
  if (file !== undefined) {
    stream.end();
    await Promise.race([once(stream, "close"), failed.promise]);
  }
  return count;
}
