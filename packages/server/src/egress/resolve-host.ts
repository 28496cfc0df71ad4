/**
 * Resolves host names. The egress client calls it before every message and checks all addresses.
 * Nothing is cached between messages.
 *
 * It queries the name servers itself instead of the operating system: such queries can be
 * cancelled, block no thread, and ignore hosts files and search domains, which could map a public
 * name to an internal address.
 */

import { Resolver as NameServers } from "node:dns/promises";
import { parseAddress } from "../core/address.ts";
import { untilAborted } from "./deadline.ts";

export interface Resolver {
  /**
   * @param host a name in ASCII, or an IP literal without brackets
   * @returns all addresses of both families; none when the name has none
   * @throws Error when an answer is missing or has too many addresses; the signal's reason after an
   * abort
   */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

export interface ResolverOptions {
  /** `address` or `address:port`; by default those of the operating system. */
  readonly servers?: readonly string[];
  /** Time for the first answer of a name server. The second try has more. */
  readonly timeoutMs?: number;
}

/** More addresses are rejected, because each one must be checked. */
export const ADDRESSES_MAX = 32;

export const TIMEOUT_MS = 1_000;
export const ATTEMPTS_MAX = 2;

/** Error codes for a name without addresses of this family. */
const NOTHING_THERE = ["ENODATA", "ENOTFOUND"];

/** Names that always mean this machine. @see RFC 6761 section 6.3 */
const LOOPBACK_NAME = /^(?:.+\.)?localhost\.?$/i;
/** One address, so that 127.0.0.0/8 suffices for development without ::1. */
const LOOPBACK = ["127.0.0.1"];

export function createResolver(options: ResolverOptions = {}): Resolver {
  const lookups = new Map<string, Lookup>();

  /** The running lookup of this host, or a new one. It is removed when it ends. */
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
  /** Waits for the answer. The query is cancelled when the last caller aborts. */
  join(signal: AbortSignal): Promise<readonly string[]>;
}

/** @param forget called once, before a caller can join a completed lookup */
function startLookup(host: string, options: ResolverOptions, forget: () => void): Lookup {
  // One instance for each query, because a cancel affects all its queries. Its measured speeds
  // would also shorten the timeout (nodejs/node#57839).
  const nameServers = new NameServers({
    timeout: options.timeoutMs ?? TIMEOUT_MS,
    tries: ATTEMPTS_MAX,
  });
  if (options.servers !== undefined) nameServers.setServers(options.servers);
  const answer = resolveBoth(nameServers, host).finally(forget);
  // A joined caller receives the failure. Without one, it is ignored.
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

/**
 * Any other failure of one family fails both, because the missing answer could have been private.
 */
function noneIfNothingThere(error: NodeJS.ErrnoException): string[] {
  if (NOTHING_THERE.includes(error.code ?? "")) return [];
  throw error;
}
