import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readUrlVectors, type UrlVector } from "../test/support/vectors.ts";
import { parseWebhookUrl, type WebhookUrl } from "./webhook-url.ts";

/** The expected result of a vector for an accepted URL. */
function expected(vector: UrlVector): unknown {
  const { url: text, host, is_address: isAddress, port, path, authority } = vector;
  return { text, host, isAddress, port, path, authority };
}

const vectors = readUrlVectors();

test("[delivery.url.syntax] every URL of the vectors is accepted or rejected as stated", () => {
  for (const vector of vectors) {
    const shown = `${JSON.stringify(vector.url).slice(0, 200)}: ${vector.why}`;
    const reading = parseWebhookUrl(vector.url);
    assert.deepEqual(reading, vector.accepted ? expected(vector) : undefined, shown);
    assert.deepEqual(parseWebhookUrl(vector.url, { internalNames: false }), reading, shown);
    const within = parseWebhookUrl(vector.url, { internalNames: true });
    assert.deepEqual(
      within,
      vector.accepted_with_internal_names ? expected(vector) : undefined,
      `with internal names: ${shown}`,
    );
  }
});

test("the vectors are many, different, and say why", () => {
  assert.ok(vectors.length > 500, `${vectors.length} vectors`);
  assert.equal(new Set(vectors.map(({ url }) => url)).size, vectors.length);
  for (const { accepted, accepted_with_internal_names: within, why, url } of vectors) {
    assert.notEqual(why, "", url);
    assert.ok(within || !accepted, `internal names refuse ${url}`);
  }
});

/** The form of the contract's WebhookURL, as contract/openapi.yaml writes it. */
const CONTRACT_FORM = /^https:\/\/[^/?#@\s\\]+(\/[^?#\s\\]*)?(\?[^#\s\\]*)?$/;

const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;

/** Parsing by the URL standard must give the same destination. */
function assertReadAlike(url: WebhookUrl): void {
  const { text, host, port, path, authority } = url;
  const standard = new URL(text);
  assert.equal(standard.protocol, "https:");
  assert.equal(standard.hostname, host.includes(":") ? `[${host}]` : host);
  assert.equal(Number(standard.port || 443), port);
  assert.equal(standard.host, authority);
  assert.deepEqual([standard.username, standard.password, standard.hash], ["", "", ""]);
  assert.match(text, CONTRACT_FORM);
  const target = text.replace(/^https:\/\/[^/?]*/, "");
  assert.equal(path, target.startsWith("/") ? target : `/${target}`);
  const [before = "", ...query] = path.split(/(?=\?)/);
  // The standard resolves dot segments, and encodes one character that RFC 3986 allows.
  if (DOT_SEGMENT.test(before)) return;
  const written = `${before}${query.join("").replaceAll("'", "%27")}`;
  assert.equal(standard.href, `https://${authority}${written}`);
}

const HOSTS = [
  "example.com",
  "EXAMPLE.com",
  "xn--n3h.com",
  "db",
  "a.local",
  "a_b.com",
  "example.com.",
  "8.8.8.8",
  "127.1",
  "0x7f.1",
  "[::1]",
  "[::01]",
  "[FE80::1]",
  "%31.0.0.1",
  "１.0.0.1",
  "",
];
const PIECES = [
  "https://",
  "https:",
  "//",
  "/",
  "?",
  "#",
  "@",
  "\\",
  ":",
  ":443",
  ":8443",
  ":08443",
  ".",
  "..",
  "%2e",
  "%",
  "%41",
  "'",
  '"',
  "\t",
  "\n",
  " ",
  "\0",
  "\u00ad",
  "é",
  "a",
  "Z",
  "-",
  "_",
];
const pieces = fc.array(fc.constantFrom(...PIECES, ...HOSTS), { maxLength: 8 });
const anything = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.webUrl({ validSchemes: ["https"], withQueryParameters: true, withFragments: true }),
  pieces.map((some) => some.join("")),
  fc
    .tuple(fc.constantFrom(...HOSTS), fc.constantFrom("", ":443", ":8443", ":22", ":"), pieces)
    .map(([host, port, some]) => `https://${host}${port}/${some.join("")}`),
  fc
    .tuple(fc.constantFrom(...HOSTS), fc.string({ unit: "grapheme-ascii" }))
    .map(([host, tail]) => `https://${host}/${tail}`),
);

test("[delivery.url.syntax] an accepted URL has the same host, port and path by the URL standard", () => {
  const outcomes = { accepted: 0, refused: 0 };
  const property = fc.property(anything, fc.boolean(), (text, internalNames) => {
    const url = parseWebhookUrl(text, { internalNames });
    outcomes[url === undefined ? "refused" : "accepted"] += 1;
    if (url === undefined) return;
    assert.equal(url.text, text);
    assertReadAlike(url);
  });
  fc.assert(property, { numRuns: 5_000 });
  for (const vector of vectors) {
    const url = parseWebhookUrl(vector.url, { internalNames: true });
    if (url !== undefined) assertReadAlike(url);
  }
  assert.ok(outcomes.accepted > 100 && outcomes.refused > 100, JSON.stringify(outcomes));
});

test("[delivery.url.syntax] a character that is invalid in a URI is rejected at every position", () => {
  const good = "https://example.com:8443/a/b?c=d";
  const places = fc.nat(good.length);
  const strange = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(...'\\#"<>^`{|}[] \t\r\n\0\u007f\u0080\u00ad\u200b\ufeff\ud800\udfff'),
  );
  const property = fc.property(places, strange, (at, inserted) => {
    fc.pre(!/^[\w.~!$&'()*+,;=:@/?-]$/.test(inserted));
    const text = good.slice(0, at) + inserted + good.slice(at);
    assert.equal(parseWebhookUrl(text, { internalNames: true }), undefined, JSON.stringify(text));
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[delivery.url.syntax] an IPv4 address has one spelling", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const property = fc.property(octet, octet, octet, octet, (a, b, c, d) => {
    const url = parseWebhookUrl(`https://${a}.${b}.${c}.${d}`);
    assert.deepEqual([url?.host, url?.isAddress], [`${a}.${b}.${c}.${d}`, true]);
    const number = ((a * 256 + b) * 256 + c) * 256 + d;
    const others = [`${number}`, `0x${number.toString(16)}`, `0${number.toString(8)}`];
    others.push(`${a}.${b}.${c * 256 + d}`, `${a}.${(b * 256 + c) * 256 + d}`);
    others.push(`0x${a.toString(16)}.${b}.${c}.${d}`, `${a}.${b}.${c}.0x${d.toString(16)}`);
    others.push(`0${a}.${b}.${c}.${d}`, `${a}.${b}.${c}.0${d}`, `${a}.${b}.${c}.${d}.`);
    others.push(`${a}.${b}.${c}.${d + 256}`, `${a}.${b}.${c}.${d}.${a}`, `[${a}.${b}.${c}.${d}]`);
    others.push(`[::${a}.${b}.${c}.${d}]`, `[::ffff:${a}.${b}.${c}.${d}]`);
    for (const other of others) {
      assert.equal(parseWebhookUrl(`https://${other}`, { internalNames: true }), undefined, other);
    }
  });
  fc.assert(property);
});

/** Written straight from the rules. @see RFC 5952 section 4 */
function canonicalIpv6(groups: readonly number[]): string {
  let best = { at: -1, length: 1 };
  for (let at = 0; at < groups.length; at++) {
    let length = 0;
    while (groups[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.at === -1) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.length).join(":")}`;
}

test("[delivery.url.syntax] an IPv6 address has one spelling", () => {
  const group = fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
  const groups = fc.array(group, { minLength: 8, maxLength: 8 });
  const property = fc.property(groups, (numbers) => {
    const canonical = canonicalIpv6(numbers);
    const url = parseWebhookUrl(`https://[${canonical}]:8443`);
    const expectedHere = [canonical, true, `[${canonical}]:8443`];
    assert.deepEqual([url?.host, url?.isAddress, url?.authority], expectedHere);
    const full = numbers.map((number) => number.toString(16));
    const padded = full.map((digits) => digits.padStart(4, "0"));
    for (const other of [full.join(":"), padded.join(":"), canonical.toUpperCase()]) {
      if (other === canonical) continue;
      assert.equal(parseWebhookUrl(`https://[${other}]:8443`), undefined, other);
    }
  });
  fc.assert(property);
});

test("[delivery.url.syntax] the ports are 443 and those from 1024 on, except the ones browsers block", () => {
  const refused: number[] = [];
  for (let port = 0; port <= 65_536; port++) {
    const url = parseWebhookUrl(`https://example.com:${port}/`);
    if (url === undefined) refused.push(port);
    else assert.equal(url.port, port);
  }
  const low = Array.from({ length: 1024 }, (_, port) => port).filter((port) => port !== 443);
  const blocked = [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566];
  blocked.push(6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080);
  assert.deepEqual(refused, [...low, ...blocked, 65_536]);
});
