/**
 * The header `Link` from a request of the contract to its page in the console, for people who
 * operate an agent.
 *
 * @see docs/reference/extensions.md
 */

import { requestPageOf } from "../config/public-url.ts";
import type { Settings } from "../config/settings.ts";

/** Returns the value of the header for a request. */
export type ConsoleLink = (request: { readonly projectId: string; readonly id: string }) => string;

/**
 * Without `public_url`, the link is relative to the URL that the client requested. Only the client
 * knows the address of the server and the path that a proxy adds.
 *
 * @param path of the operation that answers with the link, without the path prefix
 */
export function createConsoleLink(
  { publicUrl, pathPrefix }: Pick<Settings, "publicUrl" | "pathPrefix">,
  path: string,
): ConsoleLink {
  const base = publicUrl === undefined ? pathToRoot(pathPrefix + path) : asciiUrl(publicUrl);
  return (request) => `<${requestPageOf(base, request)}>; rel="alternate"; type="text/html"`;
}

/** The pages of the console are at the root, also when the contract has a path prefix. */
function pathToRoot(path: string): string {
  const folders = path.split("/").length - 2;
  return Array.from({ length: folders }, () => "..").join("/");
}

/** A header accepts no other characters. */
function asciiUrl(url: string): string {
  return new URL(url).href.replace(/\/$/, "");
}
