/**
 * How the provider treats receivers, where a fault can be planted.
 */

import { createHmac, randomInt, randomUUID } from "node:crypto";
import type { OperationName } from "@countersign/protocol";
import { isPublicAddress } from "./address.ts";
import type {
  Cause,
  Members,
  ProviderOptions,
  Receiver,
  Records,
  StoredEvent,
  StoredInstance,
  StoredRequest,
} from "./ledger.ts";

export interface Message {
  readonly receiver: Receiver;
  readonly id: string;
  readonly timestampS: number;
  readonly body: Buffer;
}

/** The reply of a receiver. Status 0: no reply. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Initial and maximum delay between attempts. */
export type Backoff = Pick<Required<ProviderOptions>, "backoffMs" | "backoffMsMax">;

export interface DeliveryConduct {
  isPublic(address: string): boolean;
  /** Whether the provider verifies certificates. */
  judgesCertificates(): boolean;
  challenge(): string;
  verificationMembers(members: Members, receiver: Receiver, instance: StoredInstance): Members;
  /** The messages to send in place of the correct verification. */
  verification(message: Message, current: Receiver | undefined): readonly Message[];
  proves(reply: Reply, challenge: string): boolean;
  /** Whether a replay proves the receiver once more. */
  verifiesReplay(operation: OperationName): boolean;
  sign(message: Message): string;
  timestampS(now: number, event: StoredEvent | undefined): number;
  headers(
    headers: Readonly<Record<string, string>>,
    instance: StoredInstance,
  ): Readonly<Record<string, string>>;
  /** How many events an end has. */
  events(request: StoredRequest, cause: Cause): number;
  eventMembers(members: Members, request: StoredRequest): Members;
  /** As they are in this attempt. */
  eventId(event: StoredEvent): string;
  eventBody(event: StoredEvent): Buffer;
  /** Undefined: delivery has ended. */
  receiver(event: StoredEvent): Receiver | undefined;
  acknowledges(reply: Reply): boolean;
  /** Milliseconds until the next attempt; undefined: there is none. */
  delayMs(reply: Reply, event: StoredEvent, times: Backoff): number | undefined;
  /** Milliseconds after which another attempt starts, even if this one is still running. */
  overlapMs(): number | undefined;
  /** The target of a redirect to follow. */
  redirect(reply: Reply): string | undefined;
  /** @returns the events to deliver after the receiver of an instance was replaced */
  replaced(events: readonly StoredEvent[], ledger: Records): readonly StoredEvent[];
}

const WINDOW_MS = 168 * 3_600_000;

export const CORRECT_DELIVERY: DeliveryConduct = {
  isPublic: isPublicAddress,
  judgesCertificates: () => true,
  challenge: () => randomUUID(),
  verificationMembers: (members) => members,
  verification: (message) => [message],
  proves({ status, body }, challenge) {
    try {
      return status === 200 && (JSON.parse(body) as Members).challenge === challenge;
    } catch {
      return false;
    }
  },
  verifiesReplay: () => false,
  sign({ receiver, id, timestampS, body }) {
    const key = Buffer.from(receiver.signingSecret.slice("whsec_".length), "base64");
    const hmac = createHmac("sha256", key).update(`${id}.${timestampS}.`).update(body);
    return `v1,${hmac.digest("base64")}`;
  },
  timestampS: (now) => Math.floor(now / 1000),
  headers: (headers) => headers,
  events: ({ instance }, cause) =>
    instance.receiver === undefined || cause === "deletion" ? 0 : 1,
  eventMembers: (members) => members,
  eventId: ({ id }) => id,
  eventBody: ({ body }) => body,
  receiver: ({ request, decision }) =>
    Date.now() < decision.decidedAt + WINDOW_MS ? request.instance.receiver : undefined,
  acknowledges: ({ status }) => status >= 200 && status < 300,
  delayMs(reply, { attempts }, { backoffMs, backoffMsMax }) {
    const backoff = Math.min(backoffMs * 2 ** (attempts - 1), backoffMsMax);
    const jittered = backoff / 2 + randomInt(Math.ceil(backoff / 2) + 1);
    return Math.max(jittered, retryAfterMs(reply));
  },
  overlapMs: () => undefined,
  redirect: () => undefined,
  replaced: () => [],
};

/** `Retry-After` of a busy receiver, ms; zero without the header. */
export function retryAfterMs({ status, headers }: Reply): number {
  if (status !== 429 && status !== 503) return 0;
  const text = String(headers["retry-after"] ?? "");
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  return Math.max(0, (Date.parse(text) || 0) - Date.now());
}
