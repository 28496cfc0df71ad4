/**
 * Values of headers that repeat a text of the body, in MCP 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */

/** By name in lower case. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** @returns undefined for a missing or invalid value */
export function decoded(value: string | string[] | undefined): string | undefined {
  if (typeof value !== "string") return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? bytes.toString("utf8") : undefined;
}
