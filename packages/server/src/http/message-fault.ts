/**
 * What the HTTP parser lets through and two readers of one exchange could read differently: a proxy
 * in front that takes the other of two hosts, or finds another end of a body, speaks of another
 * exchange than we do.
 *
 * Called by: create-http-server.ts, for every exchange, before its caller is known.
 *
 * @see RFC 9112, 3.2 (Host), 6.1 (Transfer-Encoding); RFC 9110, 5.3 (fields that are given once)
 */

import type { IncomingMessage } from "node:http";
import { Problem } from "@countersign/protocol";

export interface MessageFault {
  readonly problem: Problem;
  /** Whether nobody can say where this message ends: nothing after it can be read. */
  readonly isUnframed: boolean;
}

/** By their name in small letters, with the name that is told. */
const GIVEN_ONCE: ReadonlyMap<string, string> = new Map(
  ["Host", "Authorization", "Idempotency-Key", "Content-Type", "Content-Encoding"].map((name) => [
    name.toLowerCase(),
    name,
  ]),
);

/** Only these lengths are looked at: the loop runs over the headers of every exchange. */
const LENGTHS = new Set([...GIVEN_ONCE.keys()].map((name) => name.length));

/** @returns undefined for a message that everybody reads alike */
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
  const twice = findGivenTwice(message.rawHeaders);
  if (twice === undefined) return undefined;
  // Who calls is not known, which some operations have no other answer for than this.
  const problem =
    twice === "Authorization"
      ? new Problem("invalid_credential")
      : refused(`The header ${twice} must be given once.`, twice);
  return { problem, isUnframed: false };
}

function refused(message: string, param: string): Problem {
  return new Problem("invalid_request", message, { param });
}

/** @param rawHeaders names and values in turn, as they came */
function findGivenTwice(rawHeaders: readonly string[]): string | undefined {
  let seen: Set<string> | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (!LENGTHS.has(name.length)) continue;
    const told = GIVEN_ONCE.get(name.toLowerCase());
    if (told === undefined) continue;
    seen ??= new Set();
    if (seen.has(told)) return told;
    seen.add(told);
  }
  return undefined;
}
