/**
 * The page after a sign-in: only a path of this server. Otherwise a link could redirect the user to
 * another site.
 */

const CHARS_MAX = 2_000;

/** Characters that browsers could interpret as the start of a host, or would remove. */
const SUSPECT = /^\/[/\\]|[\\\s\p{C}]/u;

/** An API path returns no page, or starts another sign-in. */
const API = /^\/(?:review|v1)(?:\/|$)/i;

/** @returns undefined for other texts */
export function parseReturnPath(text: string): string | undefined {
  if (!text.startsWith("/") || text.length > CHARS_MAX || SUSPECT.test(text)) return undefined;
  const base = "http://localhost";
  if (!URL.canParse(text, base)) return undefined;
  const { origin, pathname, search, hash } = new URL(text, base);
  // Resolves dots as browsers do, because they can produce two slashes.
  if (origin !== base || pathname.startsWith("//") || API.test(pathname)) return undefined;
  return `${pathname}${search}${hash}`;
}
