/**
 * The lines of a file, one after another, however large it is. They end with a newline and nothing
 * else: what Node takes for one as well (U+2028) may stand inside of JSON.
 */

import { createReadStream } from "node:fs";

/** @throws when the file cannot be read */
export async function* readLines(file: string): AsyncGenerator<string> {
  const parts: string[] = [];
  for await (const chunk of createReadStream(file, { encoding: "utf8" })) {
    const [first = "", ...more] = (chunk as string).split("\n");
    parts.push(first);
    for (const text of more) {
      yield parts.join("");
      parts.length = 0;
      parts.push(text);
    }
  }
  const rest = parts.join("");
  if (rest !== "") yield rest;
}
