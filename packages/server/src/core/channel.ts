/**
 * Notification channels, which announce pending calls: what one is, which requests
 * it announces, and when it may be used again.
 */

import type { Channel } from "@countersign/review-api";

export type ChannelKind = Channel["kind"];

/** Where messages go, and what proves to the other side that it is us. Sealed when stored. */
export type ChannelTarget =
  /** The secret is `whsec_...`. */
  | { readonly kind: "webhook"; readonly url: string; readonly secret: string }
  | { readonly kind: "slack"; readonly url: string }
  | { readonly kind: "ntfy"; readonly url: string; readonly token?: string }
  | { readonly kind: "email"; readonly to: readonly string[] };

/** What creates know of a channel. */
export interface ChannelRef {
  readonly id: string;
  /** Empty: it announces every request of its project. */
  readonly groups: readonly string[];
  /** Null: no reminder. */
  readonly remindMs: number | null;
}

/** What people have said about a channel. */
export interface ChannelSettings extends ChannelRef {
  readonly projectId: string;
  readonly name: string;
  readonly kind: ChannelKind;
  readonly includesArguments: boolean;
  /** What of the target may be shown. */
  readonly targetShown: string;
  readonly encryptedTarget: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null while it is in use. */
  readonly disabledAt: number | null;
}

/** Times are epoch milliseconds. */
export interface StoredChannel extends ChannelSettings {
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Since the last message that arrived. */
  readonly failures: number;
  readonly retryAt: number | null;
  readonly last: LastSending | null;
  readonly pace: Pace;
}

/** The last attempt to send something, tests included. */
export interface LastSending {
  readonly at: number;
  readonly outcome: string;
  /** Of HTTP or SMTP, if there was an answer. */
  readonly status: number | null;
}

/** How often the channel was used lately. */
export interface Pace {
  /** When the minute began in which messages are counted. */
  readonly minuteAt: number | null;
  readonly messages: number;
  /** When the last one was sent. */
  readonly sentAt: number | null;
}

/** How sending one message went. */
export type SendOutcome =
  /** Status of HTTP or SMTP. */
  | { readonly kind: "sent"; readonly status: number }
  | {
      readonly kind: "rejected";
      readonly status: number;
      /** The other side's wish, ms from now. */
      readonly retryAfterMs: number | undefined;
    }
  /** An address that is not public, or a URL that is not accepted any more: nothing was sent. */
  | { readonly kind: "refused" }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** This server does not send this kind: webhooks are off, or there is no mail server. */
  | { readonly kind: "off" }
  /** It is not wanted any more, or there was no time left: nothing was sent. */
  | { readonly kind: "unwanted" };

export const CHANNELS_PER_PROJECT_MAX = 50;

/** In the groups of a channel: requests without named reviewers, which any reviewer may decide. */
export const ANY_REVIEWER = "*";

/**
 * Whether a channel announces a request. One without groups announces all; one with groups, those
 * with a requirement that names one of them.
 *
 * @param from sets of `group:x` and `reviewer:y`, as in a requirement
 */
export function coversRequirement(
  { groups }: Pick<ChannelRef, "groups">,
  from: readonly (readonly string[])[],
): boolean {
  if (groups.length === 0) return true;
  if (from.length === 0) return groups.includes(ANY_REVIEWER);
  return from.some((set) =>
    set.some((member) => groups.some((name) => member === `group:${name}`)),
  );
}

/**
 * When a reminder is due, epoch ms.
 *
 * @returns undefined when the window is so short that it would come right behind the first message
 */
export function remindAt(
  { remindMs }: Pick<ChannelRef, "remindMs">,
  { createdAt, deadlineAt }: { readonly createdAt: number; readonly deadlineAt: number },
): number | undefined {
  if (remindMs === null || deadlineAt - createdAt < 2 * remindMs) return undefined;
  return deadlineAt - remindMs;
}

/** An outcome as it is stored, counted and shown: `rejected`, `unreachable:tls`. */
export function sendingText(outcome: SendOutcome): string {
  return outcome.kind === "unreachable" ? `unreachable:${outcome.reason}` : outcome.kind;
}

export function sendingStatus(outcome: SendOutcome): number | null {
  return "status" in outcome ? outcome.status : null;
}

const STEP_MS_MIN = 2_000;
const STEP_MS_MAX = 60_000;

/** A longer `Retry-After` is cut to this. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/**
 * How long a channel rests after a failure: 2 s doubled up to a minute, half of it by chance;
 * longer where the other side asks for that.
 *
 * @param failures this one included
 * @param chance even in [0, 1)
 */
export function retryDelayMs(failures: number, outcome: SendOutcome, chance: number): number {
  const stepMs = Math.min(STEP_MS_MIN * 2 ** (failures - 1), STEP_MS_MAX);
  const retryAfterMs = outcome.kind === "rejected" ? (outcome.retryAfterMs ?? 0) : 0;
  return Math.ceil(
    Math.max(stepMs / 2 + (stepMs / 2) * chance, Math.min(retryAfterMs, RETRY_AFTER_MS_MAX)),
  );
}
