/** Sends messages through channels and to browsers: with the egress client, or by mail. */

import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import { eventsUrlOf, projectUrlOf } from "../config/public-url.ts";
import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import { type ChatTarget, isChatKind } from "../core/chat.ts";
import { sha256Hex } from "../core/digest.ts";
import { toSendOutcome } from "../delivery/send-outcome.ts";
import { signMessage } from "../delivery/sign-message.ts";
import type { EgressClient, Message, Reply } from "../egress/egress-client.ts";
import { postResending } from "../egress/post-resending.ts";
import { signingKeyOf } from "../secrets/keyring.ts";
import type { RowKey } from "../storage/sql/keys.ts";
import type {
  ChatAddresses,
  ChatCall,
  ChatConnection,
  ChatConnector,
  ChatHandler,
  ChatPlatform,
  ChatPlatforms,
} from "./chat-platform.ts";
import { formatMessage, quotePlain } from "./format-message.ts";
import {
  type HttpMessage,
  linkOf,
  ntfyMessage,
  slackMessage,
  teamsMessage,
  webhookMessage,
} from "./http-kinds.ts";
import type { Notifier, PushRequest, SendRequest, UpdateRequest } from "./notifier.ts";
import { encryptPush, vapidHeader } from "./push-encryption.ts";
import { type MailServer, sendMail } from "./send-mail.ts";
import { type ParseUrl, type TargetFault, targetFault } from "./target.ts";

export interface NotifierParts {
  /** Undefined when this server sends nothing over HTTP. */
  readonly egress: EgressClient | undefined;
  readonly readUrl: ParseUrl;
  readonly mail: { readonly server: MailServer; readonly from: string } | undefined;
  /** Base URL of this server, without a trailing slash. */
  readonly publicUrl: string;
  readonly platforms: ChatPlatforms;
  /** Base URLs of the APIs of chats, without a trailing slash. */
  readonly apiUrls: ChatApiUrls;
  readonly clock: Clock;
}

/** A target of Mattermost has its own URL. */
export type ChatApiUrls = Readonly<Record<Exclude<ChatTarget["kind"], "mattermost">, string>>;

const MAIL_ARGUMENTS_BYTES_MAX = 10_000;

/** A later message replaces an undelivered one with the same topic. At most 32 characters. */
function topicOf(tag: string): string {
  return sha256Hex(tag).slice(0, 32);
}

type Written = Pick<Message, "method" | "headers" | "body">;

interface Bounds extends Pick<SendRequest, "timeoutMs" | "endsBy" | "isWanted"> {
  /** Maximum bytes of the answer's body. Default: 0, only the status. */
  readonly responseBytesMax?: number;
}

/** Nothing is sent over HTTP. */
interface Unsent {
  readonly kind: "off";
}

type HttpTarget = Exclude<ChannelTarget, ChatTarget | { kind: "email" }>;

/** Chats return the whole message. */
const CHAT_ANSWER_BYTES_MAX = 262_144;

export class ChannelNotifier implements Notifier {
  readonly #parts: NotifierParts;
  readonly #closing = new AbortController();

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  faultOf(target: ChannelTarget): TargetFault | undefined {
    const { egress, mail, readUrl } = this.#parts;
    if (target.kind === "email" && mail === undefined) {
      return { field: "kind", rule: "email needs the settings smtp_url and smtp_from" };
    }
    if (target.kind !== "email" && egress === undefined) {
      return { field: "kind", rule: "must be email where webhooks are off" };
    }
    if (isChatTarget(target)) return this.#platform(target).targetFault(target, readUrl);
    return targetFault(target, readUrl);
  }

  async send(request: SendRequest): Promise<SendOutcome> {
    const { target, message } = request;
    if (target.kind === "email") return this.#mail(request, target.to);
    if (!isChatTarget(target)) return this.#post(request, target);
    const platform = this.#platform(target);
    const call = platform.postCall(target, message, this.addressesOf(request.channel, target));
    return this.#call(call, request, (status, body) => platform.postOutcome(target, status, body));
  }

  async update(request: UpdateRequest): Promise<SendOutcome> {
    const { target, message } = request;
    if (!isChatTarget(target)) throw new Error(`${target.kind} has no messages to update`);
    const platform = this.#platform(target);
    const call = platform.updateCall(target, message, this.addressesOf(request.channel, target));
    return this.#call(call, request, (status, body) =>
      platform.updateOutcome(target, message, status, body),
    );
  }

  platformOf(kind: ChatTarget["kind"]): ChatPlatform<ChatTarget> | undefined {
    if (this.#parts.egress === undefined) return undefined;
    return this.#parts.platforms[kind] as ChatPlatform<ChatTarget>;
  }

  #platform({ kind }: ChatTarget): ChatPlatform<ChatTarget> {
    return this.#parts.platforms[kind] as ChatPlatform<ChatTarget>;
  }

  addressesOf({ projectId, id }: RowKey, target: ChatTarget): ChatAddresses {
    const { publicUrl, apiUrls } = this.#parts;
    return {
      projectUrl: projectUrlOf(publicUrl, projectId),
      apiUrl: target.kind === "mattermost" ? `${target.url}/api/v4` : apiUrls[target.kind],
      eventsUrl: eventsUrlOf(publicUrl, { projectId, id }),
    };
  }

  connectChat(channel: RowKey, target: ChatTarget, handler: ChatHandler): ChatConnection {
    const { clock } = this.#parts;
    const connector: ChatConnector = {
      clock,
      call: async (call, timeoutMs) => {
        const bounds = { timeoutMs, responseBytesMax: CHAT_ANSWER_BYTES_MAX };
        const reply = await this.#deliver(call.url, call, bounds);
        if (reply.kind !== "answered") return undefined;
        return { status: reply.status, body: reply.body };
      },
      dial: (url, timeoutMs) => this.#dial(url, timeoutMs),
    };
    const addresses = this.addressesOf(channel, target);
    return this.#platform(target).connect(target, connector, handler, addresses);
  }

  async #dial(text: string, timeoutMs: number): Promise<Duplex | undefined> {
    const { egress, readUrl } = this.#parts;
    const url = readUrl(text);
    if (egress === undefined || url === undefined) return undefined;
    const socket = await egress.connect(url, timeoutMs);
    return typeof socket === "string" ? undefined : socket;
  }

  async callChat(call: ChatCall, timeoutMs: number): Promise<SendOutcome> {
    return this.#outcomeOf(await this.#deliver(call.url, call, { timeoutMs }));
  }

  get canPush(): boolean {
    return this.#parts.egress !== undefined;
  }

  pushFault(endpoint: string): string | undefined {
    if (this.#parts.egress === undefined) return "cannot be sent to where webhooks are off";
    if (this.#parts.readUrl(endpoint) !== undefined) return undefined;
    return "must be an https URL that this server may send to";
  }

  async push(request: PushRequest): Promise<SendOutcome> {
    const { target, payload, key, keepS, salt } = request;
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
    return this.#outcomeOf(await this.#deliver(target.endpoint, message, request));
  }

  close(): void {
    this.#closing.abort();
    this.#parts.egress?.close();
  }

  async #post(request: SendRequest, target: HttpTarget): Promise<SendOutcome> {
    return this.#outcomeOf(await this.#deliver(target.url, this.#write(request, target), request));
  }

  /** @param read the outcome of an answer. The later of two times for a retry applies. */
  async #call(
    call: ChatCall,
    request: Bounds,
    read: (status: number, body: Uint8Array) => SendOutcome,
  ): Promise<SendOutcome> {
    const bounds = { ...request, responseBytesMax: CHAT_ANSWER_BYTES_MAX };
    const reply = await this.#deliver(call.url, call, bounds);
    const outcome = this.#outcomeOf(reply);
    if (reply.kind !== "answered") return outcome;
    const known = read(reply.status, reply.body);
    if (outcome.kind !== "rejected" || known.kind !== "rejected") return known;
    return { ...known, retryAfterMs: laterOf(known.retryAfterMs, outcome.retryAfterMs) };
  }

  #outcomeOf(reply: Reply | Unsent): SendOutcome {
    return reply.kind === "off" ? reply : toSendOutcome(reply, this.#parts.clock.now());
  }

  async #deliver(to: string, message: Written, request: Bounds): Promise<Reply | Unsent> {
    const { egress, readUrl, clock } = this.#parts;
    if (egress === undefined) return { kind: "off" };
    const url = readUrl(to);
    if (url === undefined) return { kind: "refused" };
    const { method = "POST", headers, body } = message;
    const { timeoutMs, endsBy, isWanted, responseBytesMax = 0 } = request;
    const options = { method, headers, body, endsBy, isWanted, responseBytesMax };
    return postResending(clock, timeoutMs, (attempt) =>
      egress.post(url, { ...options, ...attempt }),
    );
  }

  #write({ channel, message }: SendRequest, target: HttpTarget): HttpMessage {
    const base = projectUrlOf(this.#parts.publicUrl, channel.projectId);
    switch (target.kind) {
      case "slack":
        return slackMessage(message, base);
      case "teams":
        return teamsMessage(message, base);
      case "ntfy":
        return ntfyMessage(message, base, target.token);
      case "webhook": {
        const key = signingKeyOf(target.secret);
        const sign = signMessage.bind(undefined, key);
        return webhookMessage(message, base, sign);
      }
    }
  }

  async #mail(request: SendRequest, to: readonly string[]): Promise<SendOutcome> {
    const { mail, clock, publicUrl } = this.#parts;
    if (mail === undefined) return { kind: "off" };
    const { channel, message, isWanted = () => true, endsBy = Number.POSITIVE_INFINITY } = request;
    const style = { quote: quotePlain, argumentsBytesMax: MAIL_ARGUMENTS_BYTES_MAX };
    const { title, lines } = formatMessage(message, style);
    const base = projectUrlOf(publicUrl, channel.projectId);
    const text = [...lines, "", linkOf(base, message), ""].join("\n");
    const timeoutMs = Math.min(request.timeoutMs, endsBy - clock.monotonic());
    const { signal } = this.#closing;
    const letter = { from: mail.from, to, subject: title, text, id: message.id };
    return sendMail(mail.server, letter, { clock, timeoutMs, signal, isWanted });
  }
}

function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function isChatTarget(target: ChannelTarget): target is ChatTarget {
  return isChatKind(target.kind);
}
