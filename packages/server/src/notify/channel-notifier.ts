/**
 * Sends messages through channels and to browsers: over the guarded door, or by mail.
 *
 * Called by: the workers that announce and push; testChannel, testPush.
 */

import type { WebhookUrl } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import { sha256Hex } from "../core/digest.ts";
import { parseRetryAfter } from "../core/retry.ts";
import type { Door, Message, Reply } from "../delivery/guarded-fetch.ts";
import { signMessage } from "../delivery/sign-message.ts";
import { signingKeyOf } from "../secrets/keyring.ts";
import {
  type HttpMessage,
  linkOf,
  ntfyMessage,
  slackMessage,
  webhookMessage,
} from "./http-kinds.ts";
import type { Errand, Notifier, PushErrand, TargetFault } from "./notifier.ts";
import { encryptPush, vapidHeader } from "./push-encryption.ts";
import { type MailServer, sendMail } from "./send-mail.ts";
import { type ReadUrl, targetFault } from "./target.ts";
import { quotePlain, wordsOf } from "./words.ts";

export interface NotifierParts {
  /** Undefined when this server sends nothing over HTTP. */
  readonly door: Door | undefined;
  readonly readUrl: ReadUrl;
  readonly mail: { readonly server: MailServer; readonly from: string } | undefined;
  /** Where people reach this server, without a slash at the end. */
  readonly publicUrl: string;
  readonly clock: Clock;
}

const MAIL_ARGUMENTS_BYTES_MAX = 10_000;

/** Below it, trying once more over a fresh connection makes no sense. */
const RESEND_MS_MIN = 1_000;

/** What a later message replaces that was not fetched: at most 32 characters. */
function topicOf(tag: string): string {
  return sha256Hex(tag).slice(0, 32);
}

type Written = Pick<Message, "headers" | "body">;

type Bounds = Pick<Errand, "timeoutMs" | "endsBy" | "isWanted">;

type HttpTarget = Exclude<ChannelTarget, { kind: "email" }>;

export class ChannelNotifier implements Notifier {
  readonly #parts: NotifierParts;
  readonly #closing = new AbortController();

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  faultOf(target: ChannelTarget): TargetFault | undefined {
    const { door, mail, readUrl } = this.#parts;
    if (target.kind === "email" && mail === undefined) {
      return { field: "kind", rule: "email needs the settings smtp_url and smtp_from" };
    }
    if (target.kind !== "email" && door === undefined) {
      return { field: "kind", rule: "must be email where webhooks are off" };
    }
    return targetFault(target, readUrl);
  }

  async send(errand: Errand): Promise<SendOutcome> {
    const { target } = errand;
    return target.kind === "email" ? this.#mail(errand, target.to) : this.#post(errand, target);
  }

  get canPush(): boolean {
    return this.#parts.door !== undefined;
  }

  pushFault(endpoint: string): string | undefined {
    if (this.#parts.door === undefined) return "cannot be sent to where webhooks are off";
    if (this.#parts.readUrl(endpoint) !== undefined) return undefined;
    return "must be an https URL that this server may send to";
  }

  async push(errand: PushErrand): Promise<SendOutcome> {
    const { target, payload, key, keepS, salt } = errand;
    const { clock, publicUrl } = this.#parts;
    const audience = new URL(target.endpoint).origin;
    const message = {
      headers: {
        authorization: vapidHeader(key, { audience, subject: publicUrl, now: clock.now() }),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        topic: topicOf(payload.tag),
        ttl: String(keepS),
        urgency: payload.silent ? "normal" : "high",
      },
      body: encryptPush(JSON.stringify(payload), target, { salt }),
    };
    return this.#deliver(target.endpoint, message, errand);
  }

  close(): void {
    this.#closing.abort();
    this.#parts.door?.close();
  }

  async #post(errand: Errand, target: HttpTarget): Promise<SendOutcome> {
    return this.#deliver(target.url, this.#write(errand, target), errand);
  }

  async #deliver(to: string, message: Written, errand: Bounds): Promise<SendOutcome> {
    const { door, readUrl, clock } = this.#parts;
    if (door === undefined) return { kind: "off" };
    const url = readUrl(to);
    if (url === undefined) return { kind: "refused" };
    const startedAt = clock.monotonic();
    const reply = await this.#through(door, url, message, errand, false);
    const leftMs = errand.timeoutMs - (clock.monotonic() - startedAt);
    const isStale = reply.kind === "unreachable" && reply.reason === "stale";
    // The other side had closed the idle connection, most likely before the message came.
    if (!isStale || leftMs < RESEND_MS_MIN) return toOutcome(reply, clock.now());
    const again = { ...errand, timeoutMs: leftMs };
    return toOutcome(await this.#through(door, url, message, again, true), clock.now());
  }

  #through(
    door: Door,
    url: WebhookUrl,
    { headers, body }: Written,
    { timeoutMs, endsBy, isWanted }: Bounds,
    freshConnection: boolean,
  ): Promise<Reply> {
    const bounds = { timeoutMs, endsBy, isWanted, responseBytesMax: 0, freshConnection };
    return door.post(url, { headers, body, ...bounds });
  }

  #write({ message }: Errand, target: HttpTarget): HttpMessage {
    const { publicUrl } = this.#parts;
    switch (target.kind) {
      case "slack":
        return slackMessage(message, publicUrl);
      case "ntfy":
        return ntfyMessage(message, publicUrl, target.token);
      case "webhook": {
        const key = signingKeyOf(target.secret);
        const sign = signMessage.bind(undefined, key);
        return webhookMessage(message, publicUrl, sign);
      }
    }
  }

  async #mail(errand: Errand, to: readonly string[]): Promise<SendOutcome> {
    const { mail, clock, publicUrl } = this.#parts;
    if (mail === undefined) return { kind: "off" };
    const { message, isWanted = () => true, endsBy = Number.POSITIVE_INFINITY } = errand;
    const manner = { quote: quotePlain, argumentsBytesMax: MAIL_ARGUMENTS_BYTES_MAX };
    const { title, lines } = wordsOf(message, manner);
    const text = [...lines, "", linkOf(publicUrl, message), ""].join("\n");
    const timeoutMs = Math.min(errand.timeoutMs, endsBy - clock.monotonic());
    const { signal } = this.#closing;
    const letter = { from: mail.from, to, subject: title, text, id: message.id };
    return sendMail(mail.server, letter, { clock, timeoutMs, signal, isWanted });
  }
}

/** @param now epoch ms at which the answer came */
function toOutcome(reply: Reply, now: number): SendOutcome {
  switch (reply.kind) {
    case "refused":
      return { kind: "refused" };
    case "busy":
      return { kind: "unwanted" };
    case "unreachable":
      return { kind: "unreachable", reason: reply.reason };
    case "answered": {
      const { status, retryAfter } = reply;
      if (status >= 200 && status < 300) return { kind: "sent", status };
      const honoured = status === 429 || status === 503;
      const retryAfterMs = honoured ? parseRetryAfter(retryAfter, now) : undefined;
      return { kind: "rejected", status, retryAfterMs };
    }
  }
}
