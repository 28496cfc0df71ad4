/**
 * Which addresses a host name has now. Asked before every message by the egress client, which
 * judges all of them; nothing is kept here from one message to the next.
 *
 * Asks the name servers itself instead of the operating system: that can be cancelled, blocks no
 * thread, and neither a hosts file nor a search domain turns a public name into an internal one.
 */

import { Resolver as NameServers } from "node:dns/promises";
import { parseAddress } from "../core/address.ts";
import { untilAborted } from "./deadline.ts";

export interface Resolver {
  /**
   * @param host a name in ASCII, or an IP literal without brackets
   * @returns every address of both families; none when the name does not exist or has none
   * @throws Error when an answer is missing or has too many addresses; the signal's reason when it
   *   is aborted
   */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

export interface ResolverOptions {
  /** `address` or `address:port`; without them, those that the operating system is set to. */
  readonly servers?: readonly string[];
  /** What a name server gets for its first answer; the second try gets more. */
  readonly timeoutMs?: number;
}

/** A name with more addresses is no receiver; every one of them would have to be judged. */
export const ADDRESSES_MAX = 32;

export const TIMEOUT_MS = 1_000;
export const ATTEMPTS_MAX = 2;

/** A name server's word that the name has no addresses of this family. */
const NOTHING_THERE = ["ENODATA", "ENOTFOUND"];

/** Names that mean this machine wherever they are asked for. @see RFC 6761 section 6.3 */
const LOOPBACK_NAME = /^(?:.+\.)?localhost\.?$/i;
/** One address, so that 127.0.0.0/8 suffices for development without ::1. */
const LOOPBACK = ["127.0.0.1"];

export function createResolver(options: ResolverOptions = {}): Resolver {
  const lookups = new Map<string, Lookup>();

  /** The one under way, or a new one that is forgotten as soon as it ends. */
  function lookupOf(host: string): Lookup {
    const joined = lookups.get(host);
    if (joined !== undefined) return joined;
    const lookup = startLookup(host, options, () => {
      if (lookups.get(host) === lookup) lookups.delete(host);
    });
    lookups.set(host, lookup);
    return lookup;
  }

  return {
    async resolve(host, signal) {
      signal.throwIfAborted();
      if (parseAddress(host) !== undefined) return [host];
      if (LOOPBACK_NAME.test(host)) return LOOPBACK;
      return lookupOf(host).join(signal);
    },
  };
}

interface Lookup {
  /** Waits for the answer; when the last caller leaves, the query is cancelled. */
  join(signal: AbortSignal): Promise<readonly string[]>;
}

/** @param forget called once, before a caller can join an answer that already arrived */
function startLookup(host: string, options: ResolverOptions, forget: () => void): Lookup {
  // One for each question: to cancel is to cancel everything that it asked, and what it has
  // learned of a name server's speed would shorten the timeout (nodejs/node#57839).
  const nameServers = new NameServers({
    timeout: options.timeoutMs ?? TIMEOUT_MS,
    tries: ATTEMPTS_MAX,
  });
  if (options.servers !== undefined) nameServers.setServers(options.servers);
  const answer = resolveBoth(nameServers, host).finally(forget);
  // A joined caller sees the failure; without one, it is ignored.
  answer.catch(() => undefined);
  let waiting = 0;
  return {
    async join(signal) {
      waiting++;
      try {
        return await untilAborted(answer, signal);
      } finally {
        waiting--;
        if (waiting === 0) {
          forget();
          nameServers.cancel();
        }
      }
    },
  };
}

async function resolveBoth(nameServers: NameServers, host: string): Promise<readonly string[]> {
  const families = await Promise.all([
    nameServers.resolve4(host).catch(noneIfNothingThere),
    nameServers.resolve6(host).catch(noneIfNothingThere),
  ]);
  const addresses = [...new Set(families.flat())];
  if (addresses.length > ADDRESSES_MAX) throw new Error("too many addresses");
  return addresses;
}

/** Any other failure of one family fails both: the answer not seen could have been private. */
function noneIfNothingThere(error: NodeJS.ErrnoException): string[] {
  if (NOTHING_THERE.includes(error.code ?? "")) return [];
  throw error;
}
