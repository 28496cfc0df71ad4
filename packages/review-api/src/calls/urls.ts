/**
 * The hosts of the addresses in arguments. An address that clients may read in different ways is
 * reported without a host. Pure. `tools/fuzz/preview-targets.ts` compares it with curl and Python.
 */

import type { JsonValue } from "@countersign/protocol";
import { stringsIn } from "./leaves.ts";

export interface Host {
  readonly scheme: string;
  /** Lower case, letters beyond ASCII as punycode; undefined when clients may disagree. */
  readonly host: string | undefined;
  /** As the agent wrote it, when that differs from the host. */
  readonly written: string | undefined;
  /** The text before an `@`, which is not a part of the host. */
  readonly user: string | undefined;
  readonly count: number;
}

type Found = Omit<Host, "count">;

const SCHEME = /(?<=([a-z][a-z0-9+.-]{0,30})):(\/\/)?/gi;
/** Some clients accept these without slashes, or with more than two. */
const SPECIAL = new Set(["http", "https", "ws", "wss", "ftp"]);
/** Some clients take the host out of the query. */
const DATABASE = /^(?:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|sqlserver)$/;
const QUERY_HOST = /[?&](?:host|hostaddr|server|failover)[^=]*=/i;

const AUTHORITY_END = /[/?#\\\s"'`<>|;]/;
/** A longer authority is uncertain. */
const AUTHORITY_CHARS_MAX = 1_000;

/** Arguments with more addresses have no preview. */
const ADDRESSES_MAX = 2_000;

/** In the order in which they first occur. */
export function hostsIn(args: JsonValue): Host[] {
  const hosts = new Map<string, Host>();
  let left = ADDRESSES_MAX;
  for (const { value } of stringsIn(args)) {
    for (const found of addressesIn(value)) {
      if (left-- === 0) return [];
      const key = JSON.stringify([found.scheme, found.host, found.written, found.user]);
      hosts.set(key, { ...found, count: (hosts.get(key)?.count ?? 0) + 1 });
    }
  }
  return [...hosts.values()];
}

function* addressesIn(text: string): Generator<Found> {
  for (const { 0: start, 1: name = "", 2: slashes, index } of text.matchAll(SCHEME)) {
    const scheme = name.toLowerCase();
    const from = index + start.length;
    const rest = text.slice(from, from + AUTHORITY_CHARS_MAX);
    if (slashes !== undefined) {
      // A client that gets the whole text as an address reads all of it.
      const isWhole = text.slice(0, index - name.length).trim() === "";
      const found = readAuthority(scheme, rest, isWhole ? text.slice(from) : undefined);
      if (found !== undefined) yield found;
    } else if (SPECIAL.has(scheme) && /^[\t\r\n]*\S/.test(rest)) {
      yield uncertain(scheme, rest.slice(0, endOf(rest)) || rest);
    }
  }
}

function uncertain(scheme: string, written: string): Found {
  return { scheme, host: undefined, written, user: undefined };
}

function endOf(rest: string): number {
  const end = rest.search(AUTHORITY_END);
  return end === -1 ? rest.length : end;
}

/**
 * @param rest behind the slashes
 * @param whole behind the slashes to the end, when the text begins with the address
 * @returns undefined for an address without a host
 */
function readAuthority(scheme: string, rest: string, whole: string | undefined): Found | undefined {
  const end = endOf(rest);
  const behind = rest.slice(end);
  if (end === 0 && /^(?:$|\s)/.test(behind) && (whole ?? "").trim() === "") return undefined;
  if (end === 0 && behind.startsWith("/") && !SPECIAL.has(scheme)) return undefined;
  const isPath = /^[/?#]/.test(behind);
  const raw = rest.slice(0, end);
  // Punctuation behind an address in a sentence.
  const isText = !isPath && (whole === undefined || /^\s/.test(behind));
  const authority = isText ? raw.replace(/[),]+$/, "") : raw;
  const isCertain = whole === undefined ? isCertainEnd(behind) : isCertainWhole(whole.slice(end));
  const hasQueryHost = DATABASE.test(scheme) && QUERY_HOST.test(behind);
  if (!isCertain || hasQueryHost || end === AUTHORITY_CHARS_MAX) return uncertain(scheme, raw);
  return hostOf(scheme, authority) ?? uncertain(scheme, raw);
}

/** Whether a client that gets the text from here as a part of the address finds the same host. */
function isCertainEnd(behind: string): boolean {
  if (/^(?:$|[/?#])/.test(behind)) return true;
  if (behind.startsWith("\\") || /^[^/?#]*@/.test(behind)) return false;
  if (/^[\s<>|]/.test(behind)) return true;
  // Quotes in the middle of a word belong to the word in a shell.
  return /^["'`;]+(?:$|[\s),\]}&<>|/?#])/.test(behind);
}

/** Some clients remove tabs and ends of lines, and some keep quotes. */
function isCertainWhole(behind: string): boolean {
  return /^(?:$|[/?#]| )/.test(behind) && isCertainEnd(behind);
}

const USER = /^[\w.~!*+%:-]*$/;
const HOST = /^(?:\[[0-9a-f:.]+\]|[\p{L}\p{N}\p{M}._\u3002\uff0e\uff61-]+)(?::\d{0,5})?$/iu;
/** Two versions of the standard translate these into different names. */
const DEVIATIONS = /[\u00df\u1e9e\u03c2]/;

/** @returns undefined when clients may disagree */
function hostOf(scheme: string, authority: string): Found | undefined {
  const at = authority.lastIndexOf("@");
  const user = at === -1 ? undefined : authority.slice(0, at);
  const written = authority.slice(at + 1);
  if (!USER.test(user ?? "") || !HOST.test(written) || DEVIATIONS.test(written)) return undefined;
  const address = `${scheme}://${written}`;
  if (!URL.canParse(address)) return undefined;
  const { host, hostname } = new URL(address);
  const isSame = written.toLowerCase() === host || written.toLowerCase().startsWith(`${host}:`);
  // Some clients read `0177.0.0.1` and `127.1` in decimal, or as a name.
  if (hostname === "" || (!isSame && /^[\d.]+$/.test(hostname))) return undefined;
  return { scheme, host, written: isSame ? undefined : written, user };
}
