/**
 * The address under which people reach a server: of its links, of its passkeys, and the origin
 * that browsers must come from.
 */

import type { Settings } from "./settings.ts";

/** Without a public URL, links lead to localhost, which browsers trust. */
const UNNAMED_HOSTS = ["127.0.0.1", "::1", "0.0.0.0", "::", "localhost"];

/**
 * @param port on which it listens; as set when undefined
 * @returns without a slash at the end
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

/** As browsers write it in `Origin`. */
export function originOf(publicUrl: string): string {
  return new URL(publicUrl).origin;
}
