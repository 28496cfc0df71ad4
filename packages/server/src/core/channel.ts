/** Notification channels: their settings, the requests that they announce, and their retries. */

import type { Channel } from "@countersign/review-api";

export type ChannelKind = Channel["kind"];

/** Address of the messages, and the secret that authenticates the server. Encrypted when stored. */
export type ChannelTarget =
  /** The secret is `whsec_...`. */
  | { readonly kind: "webhook"; readonly url: string; readonly secret: string }
  | { readonly kind: "slack"; readonly url: string }
  | SlackAppTarget
  | TelegramTarget
  | DiscordTarget
  | MattermostTarget
  | { readonly kind: "teams"; readonly url: string }
  | { readonly kind: "ntfy"; readonly url: string; readonly token?: string }
  | { readonly kind: "email"; readonly to: readonly string[] };

/** A conversation in Slack, and the bot token of the app that posts there. */
export interface SlackAppTarget {
  readonly kind: "slack_app";
  readonly token: string;
  /** Id of the conversation. */
  readonly slackChannel: string;
  /** Verifies events over HTTP. */
  readonly signingSecret?: string;
  /** Opens a connection for events (Socket Mode): `xapp-...`. */
  readonly appToken?: string;
}

/** A chat of Telegram, and the token of the bot. */
export interface TelegramTarget {
  readonly kind: "telegram";
  readonly token: string;
  /** Id of the chat: a number, or `@name` of a public channel. */
  readonly conversation: string;
  /** Signs references in questions for notes; the server creates it. */
  readonly secret: string;
}

/** A text channel of Discord, and the token of the bot. */
export interface DiscordTarget {
  readonly kind: "discord";
  readonly token: string;
  /** Id of the channel. */
  readonly conversation: string;
  /** Verifies events: Ed25519, 32 bytes in hex. */
  readonly publicKey?: string;
}

/** A channel of a Mattermost server, and the token of the bot. */
export interface MattermostTarget {
  readonly kind: "mattermost";
  /** Base URL of the Mattermost server. */
  readonly url: string;
  readonly token: string;
  /** Id of the channel. */
  readonly conversation: string;
  /** Authenticates events; the server creates it. Mattermost does not show it to users. */
  readonly secret: string;
}

/** A message in a chat that the server can update. */
export interface ChannelPost {
  /** In Slack, the `ts` of the message. */
  readonly id: string;
  /** Id of the conversation. */
  readonly place: string;
}

/** The settings of a channel that a new request needs. */
export interface ChannelRef {
  readonly id: string;
  /** Empty: the channel announces every request of its project. */
  readonly groups: readonly string[];
  /** Null: no reminder. */
  readonly remindMs: number | null;
  /** True: the channel also sends the decisions about requests that people were asked about. */
  readonly sendsDecisions: boolean;
  /** Ids of instances. Empty: the channel sends messages about all of them. */
  readonly instanceIds: readonly string[];
}

/** Settings that users choose. */
export interface ChannelSettings extends ChannelRef {
  readonly projectId: string;
  readonly name: string;
  readonly kind: ChannelKind;
  readonly includesArguments: boolean;
  /** True when people can decide in its messages. */
  readonly decides: boolean;
  /** Time between two digests, ms; null: the channel sends single messages. */
  readonly digestMs: number | null;
  /** The part of the target that may be displayed. */
  readonly targetShown: string;
  readonly encryptedTarget: string;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Null: enabled. */
  readonly disabledAt: number | null;
}

/** Times are epoch milliseconds. */
export interface StoredChannel extends ChannelSettings {
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Failures since the last success. */
  readonly failures: number;
  readonly retryAt: number | null;
  readonly last: LastSending | null;
  readonly pace: Pace;
}

/** The last attempt to send a message, including tests. */
export interface LastSending {
  readonly at: number;
  readonly outcome: string;
  /** HTTP or SMTP status; null without an answer. */
  readonly status: number | null;
}

/** Recent use of the channel. */
export interface Pace {
  /** Start of the minute in which messages are counted. */
  readonly minuteAt: number | null;
  readonly messages: number;
  /** Time of the last message. */
  readonly sentAt: number | null;
}

/** The result of sending one message. */
export type SendOutcome =
  /** HTTP or SMTP status. */
  | {
      readonly kind: "sent";
      readonly status: number;
      /** Set when the server can update the message later. */
      readonly post?: ChannelPost;
    }
  | {
      readonly kind: "rejected";
      readonly status: number;
      /** `Retry-After` of the receiver, ms from now. */
      readonly retryAfterMs: number | undefined;
      /** A word of the API of the receiver, from a fixed list. */
      readonly reason?: string;
    }
  /** The message to update does not exist any more, or cannot be updated any more. */
  | { readonly kind: "gone"; readonly reason: string }
  /** Nothing was sent: the address is not public, or the URL is no longer accepted. */
  | { readonly kind: "refused" }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** This server does not send this kind: webhooks are off, or no mail server is configured. */
  | { readonly kind: "off" }
  /** Nothing was sent: the message is obsolete, or no time was left. */
  | { readonly kind: "unwanted" };

export const CHANNELS_PER_PROJECT_MAX = 50;

/** In the groups of a channel: requests that any reviewer may decide. */
export const ANY_REVIEWER = "*";

export interface CoveredRequest {
  /** Sets of `group:x` and `reviewer:y`, from a requirement. */
  readonly from: readonly (readonly string[])[];
  readonly instanceId: string;
}

/**
 * True when a channel announces a request. A channel without groups announces all requests. A
 * channel with groups announces those with a requirement for one of the groups. A channel with
 * instances announces only requests of these.
 */
export function coversRequirement(
  { groups, instanceIds }: Pick<ChannelRef, "groups" | "instanceIds">,
  { from, instanceId }: CoveredRequest,
): boolean {
  if (instanceIds.length > 0 && !instanceIds.includes(instanceId)) return false;
  if (groups.length === 0) return true;
  if (from.length === 0) return groups.includes(ANY_REVIEWER);
  return from.some((set) =>
    set.some((member) => groups.some((name) => member === `group:${name}`)),
  );
}

/**
 * When a reminder is due, epoch ms.
 *
 * @returns undefined when the window is too short for a separate reminder
 */
export function remindAt(
  { remindMs }: Pick<ChannelRef, "remindMs">,
  { createdAt, deadlineAt }: { readonly createdAt: number; readonly deadlineAt: number },
): number | undefined {
  if (remindMs === null || deadlineAt - createdAt < 2 * remindMs) return undefined;
  return deadlineAt - remindMs;
}

/** An outcome as stored, counted and displayed: `rejected`, `unreachable:tls`. */
export function sendingText(outcome: SendOutcome): string {
  const reason = "reason" in outcome ? outcome.reason : undefined;
  return reason === undefined ? outcome.kind : `${outcome.kind}:${reason}`;
}

export function sendingStatus(outcome: SendOutcome): number | null {
  return "status" in outcome ? outcome.status : null;
}

const STEP_MS_MIN = 2_000;
const STEP_MS_MAX = 60_000;

/** A longer `Retry-After` is shortened to this. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/**
 * Pause of a channel after a failure: 2 s, doubled up to one minute, with half of it random. A
 * longer `Retry-After` takes precedence.
 *
 * @param failures including this one
 * @param chance uniform in [0, 1)
 */
export function retryDelayMs(failures: number, outcome: SendOutcome, chance: number): number {
  const stepMs = Math.min(STEP_MS_MIN * 2 ** (failures - 1), STEP_MS_MAX);
  const retryAfterMs = outcome.kind === "rejected" ? (outcome.retryAfterMs ?? 0) : 0;
  return Math.ceil(
    Math.max(stepMs / 2 + (stepMs / 2) * chance, Math.min(retryAfterMs, RETRY_AFTER_MS_MAX)),
  );
}
