/** Proposed receivers that are refused at sight. */

import { randomUUID } from "node:crypto";
import { lookup } from "node:dns/promises";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, type Kit } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { provisionWith } from "./receivers.ts";

const SYNTAX = { mode: "asynchronous" } as const;

/** Well-formed, at a reserved name: it is rejected before the name is resolved. */
function proposal(fields: object = {}): object {
  return {
    type: "webhook",
    url: "https://receiver.example.com/hook",
    registration_id: randomUUID(),
    signing_secret: secretOf(Buffer.alloc(32, 7).toString("base64")),
    ...fields,
  };
}

function secretOf(encoded: string): string {
  return `whsec_${encoded}`;
}

async function expectRefused(
  kit: Kit,
  deliveries: readonly unknown[],
  rule: RequirementId,
  code?: string,
): Promise<void> {
  for (const delivery of deliveries) {
    expectRefusal(await provisionWith(kit, delivery), 400, rule, code);
  }
}

/** Networks that a webhook must not reach, with a pattern for their addresses. */
const NETWORKS: Readonly<Record<string, RegExp>> = {
  loopback: /^(127\.|::1$|::ffff:127\.)/,
  private: /^(10\.|172\.(1[6-9]|2\d|3[01])\.|192\.168\.|::ffff:10\.)/,
  "link-local": /^(169\.254\.|fe[89ab])/,
  shared: /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./,
  local: /^f[cd]/,
};

const ADDRESSES = [
  "127.0.0.1",
  "127.8.8.8",
  "::1",
  "::ffff:127.0.0.1",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "::ffff:10.0.0.1",
  "169.254.169.254",
  "fe80::1",
  "fd00::1",
  "100.64.0.1",
  "0.0.0.0",
  "::",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "ff02::1",
];

function networkOf(address: string): string | undefined {
  return Object.keys(NETWORKS).find((name) => NETWORKS[name]?.test(address));
}

/** The networks of the kit's own receiver, which the provider was configured to allow. */
async function allowedNetworks(kit: Kit): Promise<readonly (string | undefined)[]> {
  const { receiver } = kit.options;
  if (receiver === undefined) return [];
  const found = await lookup(receiver.host, { all: true }).catch(() => []);
  return found.map(({ address }) => networkOf(address)).filter((name) => name !== undefined);
}

export const RECEIVER_INPUT: readonly Scenario[] = [
  scenario(
    "receiver.input",
    "A delivery has type, URL, registration id and secret, all of them, and nothing else",
    ["delivery.input.shape"],
    async (kit) => {
      const names = ["type", "url", "registration_id", "signing_secret"];
      const missing = names.map((name) => {
        return Object.fromEntries(Object.entries(proposal()).filter(([key]) => key !== name));
      });
      const nulls = names.map((name) => proposal({ [name]: null }));
      const rule = "delivery.input.shape";
      await expectRefused(kit, [...missing, ...nulls, null, [], "webhook", {}], rule);
      const unknownMembers = [{ secret: "x" }, { headers: {} }, { id: randomUUID() }];
      const more = unknownMembers.map((members) => proposal(members));
      await expectRefused(kit, more, "delivery.input.shape");
    },
    SYNTAX,
  ),
  scenario(
    "receiver.type",
    "Another type of delivery is unsupported_delivery_type",
    ["delivery.input.type"],
    (kit) => {
      const types = ["email", "Webhook", "sqs", ""].map((type) => proposal({ type }));
      return expectRefused(kit, types, "delivery.input.type", "unsupported_delivery_type");
    },
    SYNTAX,
  ),
  scenario(
    "receiver.registration-id",
    "A registration id is a UUID",
    ["delivery.input.registration-id"],
    (kit) => {
      const wrong = ["", "x", "registration-1", `${randomUUID()}0`, 7];
      const deliveries = wrong.map((registration_id) => proposal({ registration_id }));
      return expectRefused(kit, deliveries, "delivery.input.registration-id");
    },
    SYNTAX,
  ),
  scenario(
    "receiver.secret",
    "A signing secret is whsec_ and canonical padded base64 of exactly 32 bytes",
    ["delivery.input.secret"],
    (kit) => {
      const encoded = (bytes: number) => Buffer.alloc(bytes, 0xfb).toString("base64");
      const good = encoded(32);
      const wrong = [
        "",
        "whsec_",
        "secret",
        good,
        `WHSEC_${good}`,
        secretOf(encoded(31)),
        secretOf(encoded(33)),
        secretOf(encoded(64)),
        secretOf(good.slice(0, -1)),
        secretOf(Buffer.alloc(32, 0xfb).toString("base64url")),
        secretOf(`${good}\n`),
        // The same 32 bytes with other unused bits, and in hexadecimal.
        secretOf(`${good.slice(0, -2)}${nextLetter(good.at(-2))}=`),
        secretOf("fb".repeat(32)),
        secretOf(` ${good}`),
        7,
      ];
      const deliveries = wrong.map((signing_secret) => proposal({ signing_secret }));
      return expectRefused(kit, deliveries, "delivery.input.secret");
    },
    SYNTAX,
  ),
  scenario(
    "receiver.url-syntax",
    "A URL that is not HTTPS, or has userinfo or a fragment, is invalid_webhook_url",
    ["delivery.url.syntax"],
    (kit) => {
      const urls = [
        "http://example.com/hook",
        "ftp://example.com/",
        "wss://example.com/",
        "example.com",
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://@example.com/",
        "https://example.com/#part",
        "https://example.com/hook?a=b#",
        "https://",
        "",
        "https:///hook",
        "//example.com/hook",
        "/hook",
        "https://exa mple.com/",
        "https://example.com:99999/",
        "javascript:alert(1)",
        "https://[::1/",
      ].map((url) => proposal({ url }));
      return expectRefused(kit, urls, "delivery.url.syntax", "invalid_webhook_url");
    },
    SYNTAX,
  ),
  scenario(
    "receiver.url-addresses",
    "Addresses that are not public are invalid_webhook_url",
    ["delivery.url.addresses"],
    async (kit) => {
      const allowed = await allowedNetworks(kit);
      const refused = ADDRESSES.filter((address) => !allowed.includes(networkOf(address)));
      for (const address of refused) {
        const url = `https://${address.includes(":") ? `[${address}]` : address}/hook`;
        const answer = await provisionWith(kit, proposal({ url }));
        const rule = "delivery.url.addresses";
        const code = "invalid_webhook_url";
        const message = `${url} answered ${answer.status} ${answer.error?.code ?? ""}`;
        expect(answer.status === 400 && answer.error?.code === code, rule, message);
      }
    },
    SYNTAX,
  ),
];

/** The one after it in the alphabet of base64: here it differs in bits that encode nothing. */
function nextLetter(letter = "A"): string {
  return String.fromCharCode(letter.charCodeAt(0) + 1);
}
