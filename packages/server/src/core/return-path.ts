/**
 * Where the browser continues after a sign-in: a path of this server and nothing else, or a
 * link to a sign-in could lead anywhere.
 */

const CHARS_MAX = 2_000;

/** What browsers could read as the beginning of a host, or would drop on their way to one. */
const SUSPECT = /^\/[/\\]|[\\\s\p{C}]/u;

/** A link into the API would answer no page, or begin another sign-in. */
const API = /^\/(?:review|v1)(?:\/|$)/i;

/** @returns undefined for what is no such path */
export function parseReturnPath(text: string): string | undefined {
  if (!text.startsWith("/") || text.length > CHARS_MAX || SUSPECT.test(text)) return undefined;
  const base = "http://localhost";
  if (!URL.canParse(text, base)) return undefined;
  const { origin, pathname, search, hash } = new URL(text, base);
  // As browsers resolve it: dots can make two slashes of one.
  if (origin !== base || pathname.startsWith("//") || API.test(pathname)) return undefined;
  return `${pathname}${search}${hash}`;
}
