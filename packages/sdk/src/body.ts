/**
 * Reads bodies up to a size limit.
 */

import { abortable } from "./clock.ts";

export class TooLarge extends Error {}

/**
 * @throws TooLarge above the limit; the signal's reason, even if the source ignores the signal
 */
export async function readBody(
  source: Pick<Request | Response, "body">,
  bytesMax: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (source.body === null) return new Uint8Array();
  const reader = source.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) break;
      length += value.length;
      if (length > bytesMax) throw new TooLarge();
      chunks.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
