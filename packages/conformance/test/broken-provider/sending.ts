/**
 * One message to one receiver: signed, over TLS, to an address that was judged.
 */

import { lookup } from "node:dns/promises";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { Problem, parseWebhookUrl, type WebhookUrl } from "@countersign/protocol";
import type { Ledger } from "./conduct.ts";
import type { Message, Reply } from "./conduct-delivery.ts";
import type { StoredInstance } from "./ledger.ts";

const NOTHING: Reply = { status: 0, headers: {}, body: "" };

/** @throws Problem `invalid_webhook_url` */
export async function refuseNonPublic(ledger: Ledger, url: WebhookUrl): Promise<void> {
  const addresses = await resolve(url.host);
  if (addresses.every((address) => mayReach(ledger, address))) return;
  const detail = { param: "delivery.url" };
  throw new Problem("invalid_webhook_url", "The receiver's address is not public.", detail);
}

function mayReach({ options, conduct }: Ledger, address: string): boolean {
  return options.receiverAddresses.includes(address) || conduct.isPublic(address);
}

/** @returns an empty list if the name has no address */
async function resolve(host: string): Promise<readonly string[]> {
  if (isIP(host)) return [host];
  // Ignores the hosts file of this machine.
  if (host === "localhost") return ["127.0.0.1"];
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** @returns status 0 when no complete answer came in time, for whatever reason */
export async function send(
  ledger: Ledger,
  instance: StoredInstance,
  message: Message,
): Promise<Reply> {
  const signal = AbortSignal.any([
    AbortSignal.timeout(ledger.options.attemptMs),
    ledger.closing.signal,
  ]);
  const reply = await post(ledger, instance, message, signal).catch(() => NOTHING);
  const elsewhere = parseWebhookUrl(ledger.conduct.redirect(reply) ?? "", { internalNames: true });
  if (elsewhere === undefined) return reply;
  const receiver = { ...message.receiver, url: elsewhere };
  return post(ledger, instance, { ...message, receiver }, signal).catch(() => NOTHING);
}

async function post(
  ledger: Ledger,
  instance: StoredInstance,
  message: Message,
  signal: AbortSignal,
): Promise<Reply> {
  const { url } = message.receiver;
  const [address] = await resolve(url.host);
  if (address === undefined || !mayReach(ledger, address)) return NOTHING;
  const headers = {
    host: url.authority,
    "content-type": "application/json",
    "content-length": String(message.body.length),
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestampS),
    "webhook-signature": ledger.conduct.sign(message),
  };
  const { promise, resolve: answered, reject } = Promise.withResolvers<Reply>();
  const outgoing = httpsRequest({
    host: address,
    port: url.port,
    path: url.path,
    method: "POST",
    agent: false,
    signal,
    servername: isIP(url.host) ? "" : url.host,
    ca: [...ledger.options.ca],
    rejectUnauthorized: ledger.conduct.judgesCertificates(),
    headers: ledger.conduct.headers(headers, instance),
  });
  outgoing.on("error", reject);
  outgoing.on("response", (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    response.on("error", reject);
    response.on("end", () => {
      answered({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
  });
  outgoing.end(message.body);
  return promise;
}
