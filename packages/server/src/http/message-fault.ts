/**
 * Finds messages that the HTTP parser accepts, but that a proxy could interpret differently:
 * another of two hosts, or another end of the body.
 *
 * @see RFC 9112, 3.2 (Host), 6.1 (Transfer-Encoding); RFC 9110, 5.3 (fields that are given once)
 */

import type { IncomingMessage } from "node:http";
import { Problem } from "@countersign/protocol";

export interface MessageFault {
  readonly problem: Problem;
  /** True when the end of this message is unknown. Nothing after it can be parsed. */
  readonly isUnframed: boolean;
}

/** Headers that select the exchange and its caller on every route. */
const OF_EVERY_ROUTE = ["Host", "Authorization"];

/** @returns undefined for an unambiguous message */
export function findMessageFault(message: IncomingMessage): MessageFault | undefined {
  const { headers, httpVersion } = message;
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.toLowerCase() !== "chunked")) {
    const text = "Transfer-Encoding must be chunked, in HTTP/1.1.";
    return { problem: refused(text, "Transfer-Encoding"), isUnframed: true };
  }
  if (headers.host === undefined && httpVersion === "1.1") {
    return { problem: refused("The header Host is required.", "Host"), isUnframed: false };
  }
  const twice = findRepeated(message.rawHeaders, OF_EVERY_ROUTE);
  if (twice === undefined) return undefined;
  // The caller is unknown. Some operations have no other answer for this.
  const problem =
    twice === "Authorization" ? new Problem("invalid_credential") : refusedTwice(twice);
  return { problem, isUnframed: false };
}

function refused(message: string, param: string): Problem {
  return new Problem("invalid_request", message, { param });
}

/**
 * Checks headers that only some routes read: the key and the body. Routes call this after the
 * authentication, because other routes have no status for it.
 *
 * @throws Problem `invalid_request` with the name of a header that was sent more than once
 */
export function assertNotRepeated({ rawHeaders }: IncomingMessage, ...names: string[]): void {
  const repeated = findRepeated(rawHeaders, names);
  if (repeated !== undefined) throw refusedTwice(repeated);
}

function refusedTwice(name: string): Problem {
  return refused(`The header ${name} must be given once.`, name);
}

/** @param rawHeaders names and values alternating, as received */
function findRepeated(rawHeaders: readonly string[], names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const rawName = rawHeaders[at] as string;
    // Compares lengths first, because the loop runs over the headers of every exchange.
    const name = names.find((each) => {
      return each.length === rawName.length && each.toLowerCase() === rawName.toLowerCase();
    });
    if (name === undefined) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
