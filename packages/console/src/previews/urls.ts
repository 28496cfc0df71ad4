/** The addresses in arguments, by the hosts to which they really lead. Pure. */

import type { JsonValue } from "@countersign/protocol";
import { stringsIn } from "./leaves.ts";

export interface Host {
  /** As it is asked for: lower case, other letters as punycode. */
  readonly host: string;
  readonly scheme: string;
  /** As it is written, where that is something else. */
  readonly written: string | undefined;
  /** What stands before an `@`: it is no part of the host, however it looks. */
  readonly user: string | undefined;
  readonly count: number;
}

const ADDRESS =
  /\b(?:https?|wss?|ftp|ssh|git|postgres(?:ql)?|mysql|redis|mongodb):\/\/[^\s"'`<>|;]+/gi;

/** In the order in which they come first. */
export function hostsIn(args: JsonValue): Host[] {
  const hosts = new Map<string, Host>();
  for (const { value } of stringsIn(args)) {
    for (const [address] of value.matchAll(ADDRESS)) {
      const host = hostOf(address);
      if (host === undefined) continue;
      const key = JSON.stringify([host.scheme, host.host, host.written, host.user]);
      hosts.set(key, { ...host, count: (hosts.get(key)?.count ?? 0) + 1 });
    }
  }
  return [...hosts.values()];
}

function hostOf(address: string): Omit<Host, "count"> | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, host, username, password } = new URL(address);
  if (host === "") return undefined;
  // Browsers take a backslash for a slash; so does what reads the address here.
  const authority = /^[^:]+:\/\/([^/?#\\]*)/.exec(address)?.[1] ?? "";
  const written = authority.slice(authority.lastIndexOf("@") + 1);
  const isUser = username !== "" || password !== "";
  return {
    host,
    scheme: protocol.slice(0, -1),
    written:
      written.toLowerCase() === host || written.toLowerCase().startsWith(`${host}:`)
        ? undefined
        : written,
    user: isUser ? decoded(username) : undefined,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
