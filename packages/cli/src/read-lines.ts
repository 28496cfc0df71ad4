/**
 * The lines of a file, one after another, however large it is. Only a newline
 * ends a line: Node also splits at U+2028, but JSON can contain that character.
 */

import { createReadStream } from "node:fs";
import { CommandError, EXIT } from "@countersign/command-line";

/** In UTF-16: our lines are far shorter, and a hostile file must not fill the memory. */
const LINE_CHARS_MAX = 16 * 1024 * 1024;

/** @throws when the file cannot be read; CommandError when a line in it is too long */
export async function* readLines(file: string): AsyncGenerator<string> {
  const parts: string[] = [];
  let chars = 0;
  for await (const chunk of createReadStream(file, { encoding: "utf8" })) {
    const [first = "", ...more] = (chunk as string).split("\n");
    parts.push(first);
    chars += first.length;
    if (chars > LINE_CHARS_MAX) {
      const message = `${file} has a line of more than ${LINE_CHARS_MAX} characters`;
      throw new CommandError(EXIT.refused, "unreadable", message);
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
