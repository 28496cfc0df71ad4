/**
 * Sends verifications and notifications through the egress client, each with a new signature.
 *
 * @see contract: Events; Authentication, 5; Standard Webhooks 1.0.0
 */

import type { KeyObject } from "node:crypto";
import {
  formatTimestamp,
  JsonObject,
  parseJsonBytes,
  WEBHOOK_HEADERS,
  type WebhookUrl,
} from "@countersign/protocol";
import type { Clock, Random } from "../clock.ts";
import type { AttemptOutcome } from "../core/notification.ts";
import { parseRetryAfter } from "../core/retry.ts";
import type { EgressClient, Message, Reply } from "../egress/egress-client.ts";
import { postResending } from "../egress/post-resending.ts";
import type { ReceiverUrls } from "../egress/receiver-urls.ts";
import type { Report } from "../report.ts";
import { signingKeyOf } from "../secrets/keyring.ts";
import type { Delivery, Proposal, Sending, Verification } from "./delivery.ts";
import type { DestinationLimits } from "./destination-limits.ts";
import { signMessage } from "./sign-message.ts";

/** @see contract: Limits, Verification response deadline */
export const VERIFICATION_MS = 10_000;

/** How long a verification is queued before the server answers with `Retry-After`. */
export const VERIFICATION_QUEUE_MS = 3_000;

/**
 * Maximum wait for a slot of the address. Without this limit, a message could start too late and
 * its timeout would count as a failure of the receiver.
 */
export const ADDRESS_QUEUE_MS = 3_000;

export const VERIFICATION_ANSWER_BYTES_MAX = 4_096;

const RETRY_AFTER_S = 5;

/** Delay of the next attempt to acquire a slot of an address. */
const BUSY_DELAY_MS = 1_000;

export interface WebhookParts {
  readonly egress: EgressClient;
  readonly limits: DestinationLimits;
  readonly urls: ReceiverUrls;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

interface PostOptions extends Omit<Message, "headers" | "body" | "admit"> {
  readonly traceparent?: string | undefined;
}

export class WebhookDelivery implements Delivery {
  readonly limits: DestinationLimits;
  readonly urls: ReceiverUrls;
  readonly #egress: EgressClient;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #report: Report;

  constructor({ egress, limits, urls, clock, random, report }: WebhookParts) {
    this.limits = limits;
    this.urls = urls;
    this.#egress = egress;
    this.#clock = clock;
    this.#random = random;
    this.#report = report;
  }

  async verify(proposal: Proposal): Promise<Verification> {
    const { provisionerId, delivery } = proposal;
    const destination = { account: provisionerId, host: delivery.url.host };
    const retryAfterS = this.limits.chargeVerification(destination);
    if (retryAfterS > 0) return { kind: "limited", retryAfterS };
    const leave = await this.#within(VERIFICATION_QUEUE_MS, (patience) =>
      this.limits.acquire(destination, patience),
    );
    if (leave === undefined) return { kind: "limited", retryAfterS: RETRY_AFTER_S };
    try {
      return await this.#challenge(proposal);
    } finally {
      leave();
    }
  }

  async #challenge({ instanceId, delivery }: Proposal): Promise<Verification> {
    const { url, registrationId, signingSecret } = delivery;
    const startedAt = this.#clock.now();
    const id = this.#random.uuid();
    const challenge = this.#random.uuid();
    const body = JSON.stringify({
      id,
      type: "webhook.verification",
      registration_id: registrationId,
      instance_id: instanceId,
      created_at: formatTimestamp(startedAt),
      challenge,
    });
    const reply = await this.#post(url, signingKeyOf(signingSecret), id, body, {
      timeoutMs: VERIFICATION_MS,
      responseBytesMax: VERIFICATION_ANSWER_BYTES_MAX,
      freshConnection: true,
    });
    const verification = judge(reply, challenge);
    this.#report.verificationAttempted({
      instanceId,
      registrationId,
      host: url.host,
      outcome: outcomeOf(reply, verification),
      status: reply.kind === "answered" ? reply.status : undefined,
      durationMs: this.#clock.now() - startedAt,
    });
    return verification;
  }

  async send(sending: Sending): Promise<AttemptOutcome> {
    const { url, signingKey, id, body, timeoutMs, endsBy, isWanted, traceparent } = sending;
    const options = { endsBy, responseBytesMax: 0, isWanted, traceparent };
    const reply = await postResending(this.#clock, timeoutMs, (attempt) =>
      this.#post(url, signingKey, id, body, { ...options, ...attempt }),
    );
    return toOutcome(reply, this.#clock.now());
  }

  close(): void {
    this.#egress.close();
  }

  async #post(
    url: WebhookUrl,
    signingKey: KeyObject,
    id: string,
    body: string,
    { traceparent, ...options }: PostOptions,
  ): Promise<Reply> {
    const timestampS = Math.floor(this.#clock.now() / 1000);
    const headers = {
      "content-type": "application/json",
      [WEBHOOK_HEADERS.id]: id,
      [WEBHOOK_HEADERS.timestamp]: String(timestampS),
      [WEBHOOK_HEADERS.signature]: signMessage(signingKey, id, timestampS, body),
      ...(traceparent !== undefined && { traceparent }),
    };
    return this.#egress.post(url, {
      ...options,
      headers,
      body,
      admit: (address, signal) =>
        this.limits.tryAcquireAddress(address) ?? this.#queue(address, signal),
    });
  }

  #queue(address: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    return this.#within(ADDRESS_QUEUE_MS, (patience) =>
      this.limits.acquireAddress(address, AbortSignal.any([signal, patience])),
    );
  }

  /** @param wait must stop when the signal aborts */
  async #within<T>(ms: number, wait: (patience: AbortSignal) => Promise<T>): Promise<T> {
    const patience = new AbortController();
    const cancel = this.#clock.after(ms, () => patience.abort());
    try {
      return await wait(patience.signal);
    } finally {
      cancel();
    }
  }
}

/** For operators. The provisioner only receives the failure. */
function outcomeOf(reply: Reply, { kind }: Verification): string {
  if (reply.kind === "unreachable") return `unreachable:${reply.reason}`;
  if (kind !== "failed" || reply.kind !== "answered") return kind;
  return reply.status === 200 ? "failed:body" : "failed:status";
}

/** A plain 2xx proves nothing, and neither does a server that echoes the request. */
function judge(reply: Reply, challenge: string): Verification {
  if (reply.kind === "refused") return { kind: "unsafe" };
  if (reply.kind === "busy") return { kind: "limited", retryAfterS: RETRY_AFTER_S };
  if (reply.kind !== "answered" || reply.status !== 200) return { kind: "failed" };
  try {
    const answer = parseJsonBytes(reply.body);
    const isChallenge =
      answer instanceof JsonObject &&
      answer.members.size === 1 &&
      answer.members.get("challenge") === challenge;
    return { kind: isChallenge ? "verified" : "failed" };
  } catch {
    return { kind: "failed" };
  }
}

/** @param now epoch ms of the answer */
function toOutcome(reply: Reply, now: number): AttemptOutcome {
  switch (reply.kind) {
    case "refused":
      return { kind: "refused" };
    case "busy":
      return { kind: "postponed", delayMs: BUSY_DELAY_MS };
    case "unreachable":
      return { kind: "unreachable", reason: reply.reason };
    case "answered": {
      const { status, retryAfter } = reply;
      if (status >= 200 && status < 300) return { kind: "acknowledged", status };
      const honoured = status === 429 || status === 503;
      const retryAfterMs = honoured ? parseRetryAfter(retryAfter, now) : undefined;
      return { kind: "rejected", status, retryAfterMs };
    }
  }
}
