/**
 * The public URL of a server: the base of links, the origin of passkeys, and the origin that
 * browsers must send.
 */

import type { Settings } from "./settings.ts";

/** Without a public URL, links use localhost, which browsers accept as a secure context. */
const UNNAMED_HOSTS = ["127.0.0.1", "::1", "0.0.0.0", "::", "localhost"];

/**
 * @param port the listening port; the configured one when undefined
 * @returns URL without a trailing slash
 */
export function publicUrlOf(
  { publicUrl, tls, host, port: portSet }: Settings,
  port = portSet,
): string {
  if (publicUrl !== undefined) return publicUrl;
  const name = UNNAMED_HOSTS.includes(host) ? "localhost" : host;
  const authority = name.includes(":") ? `[${name}]` : name;
  return `${tls === undefined ? "http" : "https"}://${authority}:${port}`;
}

/**
 * Where the console shows a project: the base of its pages.
 *
 * @param base URL of the server without a trailing slash, or a relative path to its root
 */
export function projectUrlOf(base: string, projectId: string): string {
  return `${base}/p/${projectId}`;
}

/** The page of a request in the console. @param base as for {@link projectUrlOf} */
export function requestPageOf(
  base: string,
  { projectId, id }: { readonly projectId: string; readonly id: string },
): string {
  return `${projectUrlOf(base, projectId)}/inbox/${id}`;
}

/** Where a chat platform sends the events of a channel. */
export function eventsUrlOf(
  base: string,
  { projectId, id }: { readonly projectId: string; readonly id: string },
): string {
  return `${base}/chat/${projectId}/${id}`;
}

/** As in the `Origin` header of browsers. */
export function originOf(publicUrl: string): string {
  return new URL(publicUrl).origin;
}
