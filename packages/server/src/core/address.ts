/**
 * Decides which IP addresses may receive webhooks: public ones, and those that the operator
 * permits.
 *
 * For IPv4, an address is public unless the special-purpose registry lists it. For IPv6, only the
 * global unicast block 2000::/3 without its special parts is public. That excludes all families
 * with an embedded IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo), which could
 * reach a private one.
 *
 * Texts are not normalized: a text that is not an IP address is not public.
 *
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries; contract: WebhookURL rules, 2
 */

/** A network. */
export interface Cidr {
  /** 4 or 16, host bits zero. */
  readonly bytes: Uint8Array;
  /** Number of significant bits in `bytes`. */
  readonly prefixBits: number;
}

/** The operator's additions to the public addresses. */
export interface AddressRules {
  /** Permitted although not public. */
  readonly allow: readonly Cidr[];
  /** The /96 prefixes of NAT64 translators. The embedded IPv4 address is checked. */
  readonly nat64: readonly Cidr[];
}

/** True when a socket to the address is permitted. */
export function mayConnect(rules: AddressRules, address: string): boolean {
  if (isWithin(rules.allow, address)) return true;
  for (const prefix of rules.nat64) {
    // Checked first, because a translator's prefix may be public.
    const inner = embeddedIpv4(prefix, address);
    if (inner !== undefined) return isPublicAddress(inner) || isWithin(rules.allow, inner);
  }
  return isPublicAddress(address);
}

/** True for globally reachable unicast of one machine; false for text that is not an IP address. */
export function isPublicAddress(text: string): boolean {
  const bytes = parseAddress(text);
  if (bytes === undefined) return false;
  if (bytes.length === IPV4_BYTES) return !isInAny(SPECIAL_IPV4, bytes);
  return contains(GLOBAL_UNICAST, bytes) && !isInAny(SPECIAL_IPV6, bytes) && !isIsatap(bytes);
}

/**
 * @param nat64Prefix a network of 96 bits
 * @returns the IPv4 address that the translator of this prefix sends to; undefined for other
 * addresses
 * @see RFC 6052 section 2.2
 */
export function embeddedIpv4(nat64Prefix: Cidr, address: string): string | undefined {
  const bytes = parseAddress(address);
  if (bytes === undefined || nat64Prefix.prefixBits !== NAT64_PREFIX_BITS) return undefined;
  return contains(nat64Prefix, bytes) ? bytes.subarray(NAT64_PREFIX_BITS / 8).join(".") : undefined;
}

/** An IPv4 network contains no IPv6 address, not even a mapped one. */
export function isWithin(cidrs: readonly Cidr[], address: string): boolean {
  const bytes = parseAddress(address);
  return bytes !== undefined && isInAny(cidrs, bytes);
}

/**
 * The network that counts as one client. For IPv6, it has 64 bits: the smallest network of one
 * machine, which can choose any address in it. An IPv4 address has one form, also from a listener
 * for both families.
 *
 * @returns other texts unchanged
 * @see RFC 4291 sections 2.5.1 and 2.5.5.2
 */
export function countedNetwork(address: string): string {
  const bytes = parseAddress(address.split("%", 1)[0] ?? "");
  if (bytes === undefined || bytes.length === IPV4_BYTES) return address;
  if (contains(MAPPED_IPV4, bytes)) return bytes.subarray(-IPV4_BYTES).join(".");
  const half = Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0"));
  return `${half.join("")}/64`;
}

/** @returns undefined unless the text is `address/bits` and all bits after the prefix are zero */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", bits = "", ...rest] = text.split("/");
  const bytes = parseAddress(address);
  if (bytes === undefined || rest.length > 0 || !PREFIX_BITS.test(bits)) return undefined;
  const prefixBits = Number(bits);
  if (prefixBits > bytes.length * 8) return undefined;
  const isNetwork = bytes.every((byte, i) => (byte & ~mask(prefixBits, i)) === 0);
  return isNetwork ? { bytes, prefixBits } : undefined;
}

/** Networks from validated settings. */
export function parseCidrs(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}

/**
 * Parses an IPv4 address in dotted decimal without leading zeros, or an IPv6 address in any
 * spelling without a zone.
 *
 * @returns 4 or 16 bytes
 * @see RFC 4291 section 2.2
 */
export function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const NAT64_PREFIX_BITS = 96;

const IPV4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/;
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i;
const PREFIX_BITS = /^(?:0|[1-9][0-9]{0,2})$/;

function parseIpv4(text: string): Uint8Array | undefined {
  if (!IPV4.test(text)) return undefined;
  const bytes = new Uint8Array(IPV4_BYTES);
  for (const [i, part] of text.split(".").entries()) bytes[i] = Number(part);
  return bytes;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const parts = halves.map((half, i) => parseGroups(half, i === halves.length - 1));
  const [head, tail] = parts;
  if (head === undefined || (parts.length === 2 && tail === undefined)) return undefined;
  const length = head.length + (tail?.length ?? 0);
  // `::` replaces at least one group.
  if (tail === undefined ? length !== IPV6_BYTES : length > IPV6_BYTES - 2) return undefined;
  const bytes = new Uint8Array(IPV6_BYTES);
  bytes.set(head);
  if (tail !== undefined) bytes.set(tail, IPV6_BYTES - tail.length);
  return bytes;
}

/** @param isEnd true when the last group may be an IPv4 address */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [i, group] of groups.entries()) {
    if (IPV6_GROUP.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const dotted = isEnd && i === groups.length - 1 ? parseIpv4(group) : undefined;
    if (dotted === undefined) return undefined;
    bytes.push(...dotted);
  }
  return bytes;
}

function isInAny(cidrs: readonly Cidr[], bytes: Uint8Array): boolean {
  return cidrs.some((cidr) => contains(cidr, bytes));
}

function contains({ bytes: network, prefixBits }: Cidr, bytes: Uint8Array): boolean {
  if (network.length !== bytes.length) return false;
  return network.every((byte, i) => byte === ((bytes[i] ?? 0) & mask(prefixBits, i)));
}

/** The bits of byte `i` within a prefix of this length. */
function mask(prefixBits: number, i: number): number {
  const bits = Math.min(8, Math.max(0, prefixBits - i * 8));
  return (0xff << (8 - bits)) & 0xff;
}

/** True for the interface identifier of a tunnel into an IPv4 network. @see RFC 5214 section 6.1 */
function isIsatap(bytes: Uint8Array): boolean {
  const isLocalBitAny = ((bytes[8] ?? 0) & ~0x02) === 0;
  return isLocalBitAny && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
}

function network(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`${text} is not a network`);
  return cidr;
}

const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network (RFC 791)
  "10.0.0.0/8", // private (RFC 1918)
  "100.64.0.0/10", // behind carriers' NAT (RFC 6598), and one cloud's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's host agent: public by number, the platform's by use
  "169.254.0.0/16", // link-local (RFC 3927), and most clouds' metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments (RFC 6890), and one cloud's metadata
  "192.0.2.0/24", // documentation (RFC 5737)
  "192.31.196.0/24", // AS112 (RFC 7535)
  "192.52.193.0/24", // AMT (RFC 7450)
  "192.88.99.0/24", // 6to4 relays (RFC 7526)
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112, direct delegation (RFC 7534)
  "198.18.0.0/15", // benchmarks (RFC 2544)
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast included
].map(network);

const MAPPED_IPV4 = network("::ffff:0:0/96");

const GLOBAL_UNICAST = network("2000::/3");

const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments (RFC 2928): Teredo, benchmarks, AMT, ORCHID, DRIP
  "2001:db8::/32", // documentation (RFC 3849)
  "2002::/16", // 6to4 (RFC 3056): an IPv4 address inside
  "2620:4f:8000::/48", // AS112, direct delegation (RFC 7534)
  "3fff::/20", // documentation (RFC 9637)
].map(network);
