/**
 * The lines of a file, one after another, however large it is. Only a newline
 * ends a line: Node also splits at U+2028, but JSON can contain that character.
 */

import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { Failure } from "../failure.ts";

/** In UTF-16: our lines are far shorter, and a hostile file must not fill the memory. */
const LINE_CHARS_MAX = 16 * 1024 * 1024;

/**
 * @param file compressed, if its name ends with `.gz`
 * @param onBytes called with the compressed bytes, in order
 * @throws when the file cannot be read; Failure when it is not a complete gzip file, or a line is
 * too long
 */
export async function* readLines(
  file: string,
  onBytes?: (bytes: Buffer | string) => void,
): AsyncGenerator<string> {
  const parts: string[] = [];
  let chars = 0;
  for await (const chunk of textOf(file, onBytes)) {
    const [first = "", ...more] = chunk.split("\n");
    parts.push(first);
    chars += first.length;
    if (chars > LINE_CHARS_MAX) {
      throw new Failure("audit", `${file} has a line of more than ${LINE_CHARS_MAX} characters`);
    }
    for (const text of more) {
      yield parts.join("");
      parts.length = 0;
      parts.push(text);
      chars = text.length;
    }
  }
  const rest = parts.join("");
  if (rest !== "") yield rest;
}

async function* textOf(
  file: string,
  onBytes?: (bytes: Buffer | string) => void,
): AsyncGenerator<string> {
  if (!file.endsWith(".gz")) {
    yield* createReadStream(file, { encoding: "utf8" });
    return;
  }
  const compressed = createReadStream(file);
  const text = createGunzip().setEncoding("utf8");
  compressed.on("error", (error) => text.destroy(error));
  if (onBytes !== undefined) compressed.on("data", onBytes);
  try {
    yield* compressed.pipe(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("audit", `cannot read ${file}: ${reason}`, error);
  } finally {
    compressed.destroy();
  }
}
