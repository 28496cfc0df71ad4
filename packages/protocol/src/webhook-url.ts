/**
 * Parses a receiver's URL strictly, for the provider, and for provisioners that validate a URL
 * before they submit it. Every parser must get the same destination from the text, so this parser
 * repairs nothing. `new URL` would remove tabs, replace backslashes, decode `%31%32%37.0.0.1`,
 * parse `127.1` as an address and hide an empty `@` or `#`. This parser rejects all of them.
 *
 * It checks only the text. The sender checks at every connection that an address is public.
 *
 * Rules for the points that the contract leaves open:
 * - The scheme is lower case, as in the contract's form: the provider echoes the text unchanged and
 *   clients compare it. A host may contain capitals.
 * - Ports are 443, and the ports from 1024 that browsers do not block.
 * - Path and query contain only the characters of RFC 3986. Parsers differ in how they treat raw
 *   brackets and quotes.
 * - An IPv6 address has the spelling of the URL standard and RFC 5952, without a dotted tail, so
 * that each address has one spelling.
 * - A public name ends in a label that can be a top-level domain: letters, or an IDN label.
 *
 * @see contract: Resources, WebhookURL rules, 1; RFC 3986; contract/vectors/webhook-url.json
 */

import { isIdnLabel } from "./idn-label.ts";
import { WEBHOOK_URL_CHARS_MAX } from "./limits.ts";

export interface WebhookUrl {
  /** As submitted, letter for letter. */
  readonly text: string;
  /** The name in lower case, or the IP literal, without brackets. */
  readonly host: string;
  /** The host is an IPv4 or IPv6 literal, public or not. */
  readonly isAddress: boolean;
  /** 443 when none is given. */
  readonly port: number;
  /** The request target: path and query as submitted, with `/` where the path is missing. */
  readonly path: string;
  /** For the Host header: the host, in brackets for IPv6, and the port unless it is 443. */
  readonly authority: string;
}

/** Which URLs of receivers a provider accepts besides public ones. */
export interface WebhookUrlRules {
  /**
   * The operator allowed internal networks: names of one label and special-use names are
   * accepted, and what they resolve to decides.
   */
  readonly internalNames?: boolean;
}

const PATH_CHAR = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})";

/** `https://<host>[:port][/path][?query]`, in printable ASCII from the first to the last. */
const FORM = new RegExp(
  [
    "^https://(?<host>\\[[0-9a-f:]+\\]|[A-Za-z0-9.-]+)",
    "(?::(?<port>[1-9][0-9]{0,4}))?",
    `(?<path>/${PATH_CHAR}*)?`,
    `(?<query>\\?(?:${PATH_CHAR}|\\?)*)?$`,
  ].join(""),
);

/**
 * Parses the URL of a webhook receiver.
 *
 * @returns undefined when the text is malformed, names no host of the public network (unless
 *   the rules allow others) or asks for a port that webhooks do not use
 * @throws never
 */
export function parseWebhookUrl(text: string, rules: WebhookUrlRules = {}): WebhookUrl | undefined {
  if (text.length > WEBHOOK_URL_CHARS_MAX) return undefined;
  const parts = FORM.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const written = (parts.host ?? "").toLowerCase();
  const isAddress = written.startsWith("[") || IPV4.test(written);
  if (!isAddress && !isName(written, rules.internalNames ?? false)) return undefined;
  const port = Number(parts.port ?? HTTPS_PORT);
  if (!isReceiverPort(port) || !readsAs(text, written, port)) return undefined;
  return {
    text,
    host: written.startsWith("[") ? written.slice(1, -1) : written,
    isAddress,
    port,
    path: `${parts.path ?? "/"}${parts.query ?? ""}`,
    authority: port === HTTPS_PORT ? written : `${written}:${port}`,
  };
}

/**
 * The cross-check: a parser of the URL standard reaches the same host and port.
 * For an IPv6 literal this is also what makes it an address in its one canonical spelling.
 */
function readsAs(text: string, host: string, port: number): boolean {
  try {
    const url = new URL(text);
    return url.hostname === host && Number(url.port || HTTPS_PORT) === port;
  } catch {
    return false;
  }
}

/** Four decimal numbers up to 255 without leading zeros. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/;

/** Letters, digits and hyphens, with no hyphen at an end. @see RFC 1123 section 2.1 */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Many parsers read a name with such a last label as an IPv4 address, in different ways. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;

/** @see RFC 3696 section 2 */
const PUBLIC_TOP_LABEL = /^(?:[a-z]{2,}|xn--.+)$/;

/** Longer names cannot be asked for. @see RFC 1035 section 2.3.4 */
const NAME_CHARS_MAX = 253;

function isName(name: string, internal: boolean): boolean {
  const labels = name.split(".");
  const top = labels.at(-1) ?? "";
  if (name.length > NAME_CHARS_MAX || NUMBER.test(top)) return false;
  if (!labels.every(isLabel)) return false;
  if (internal) return true;
  return labels.length > 1 && PUBLIC_TOP_LABEL.test(top) && !INTERNAL_TOP_LABELS.has(top);
}

function isLabel(label: string): boolean {
  return LABEL.test(label) && (!label.startsWith("xn--") || isIdnLabel(label));
}

/**
 * Top-level labels that name nothing in the public network, so that a name below them means
 * what the resolver of the day makes of it. `example.com` and its like are ordinary names.
 */
const INTERNAL_TOP_LABELS: ReadonlySet<string> = new Set([
  // RFC 6761 section 6; RFC 6762 section 3; RFC 7686; RFC 9476
  "test",
  "localhost",
  "invalid",
  "example",
  "local",
  "onion",
  "alt",
  // All of it is infrastructure, home.arpa (RFC 8375) and ipv4only.arpa (RFC 8880) included.
  "arpa",
  // RFC 6762 appendix G
  "intranet",
  "internal",
  "private",
  "corp",
  "home",
  "lan",
  // Also reserved by ICANN: resolution 2018.02.04.12
  "mail",
  // Used in hosts files and clusters (`name.namespace.svc`), and not delegated.
  "localdomain",
  "svc",
]);

const HTTPS_PORT = 443;

/**
 * The ports from 1024 on that the Fetch standard blocks: behind them are protocols that would
 * take a request for commands of their own.
 *
 * @see https://fetch.spec.whatwg.org/#port-blocking
 */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10080,
]);

function isReceiverPort(port: number): boolean {
  if (port === HTTPS_PORT) return true;
  return port >= 1024 && port <= 65_535 && !BLOCKED_PORTS.has(port);
}
