/** Channels: how a project notifies its reviewers of pending requests. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  actor,
  anyText,
  body,
  duration,
  flag,
  groupNames,
  id,
  type NamedSchema,
  texts,
  timestamp,
  visibleName,
  word,
} from "./schema.ts";

export const CHANNEL_KINDS = [
  "webhook",
  "email",
  "slack",
  "slack_app",
  "telegram",
  "discord",
  "mattermost",
  "teams",
  "ntfy",
] as const;

const NAME_CHARS_MAX = 64;
const NAME_RULE = `must be 1 to ${NAME_CHARS_MAX} visible characters`;
const DIGEST_MS_MIN = 60_000;
const DIGEST_MS_MAX = 24 * 3_600_000;
const REMIND_MS_MAX = 24 * 3_600_000;

/** The last message to a channel or a browser. */
export const lastSending = v.object({
  at: timestamp,
  /** `sent`, `rejected`, `unreachable:tls` and others. */
  outcome: v.string(),
  /** Of HTTP or SMTP, if there was an answer. */
  status: v.optional(v.number()),
});

/** The result of a test message. */
export const testOutcome = v.object({
  outcome: v.string(),
  status: v.optional(v.number()),
  message: v.string(),
});

const channelMembers = {
  id,
  name: v.string(),
  kind: v.picklist(CHANNEL_KINDS),
  /** Shortened: the rest of it may be a secret. */
  target: v.string(),
  /** Empty: it announces every request. */
  groups: v.array(v.string()),
  include_arguments: v.boolean(),
  /** True when people can decide in its messages. */
  decide: v.boolean(),
  /** True when it sends a message about each decision. */
  on_decision: v.boolean(),
  /** Ids of instances. Empty: it sends messages about all of them. */
  instances: v.array(v.string()),
  /** Time between two digests; absent: the channel sends single messages. */
  digest: v.optional(v.string()),
  /** Where the chat sends events over HTTP, if people can decide. */
  events_url: v.optional(v.string()),
  /** The connection for events, if the chat has one. */
  connection: v.optional(
    v.object({
      /** `connected`, `connecting`, `not_connected`, or why there is no connection. */
      state: v.string(),
      changed_at: timestamp,
    }),
  ),
  remind_before: v.optional(v.string()),
  state: v.picklist(["enabled", "disabled"]),
  created_at: timestamp,
  created_by: actor,
  disabled_at: v.optional(timestamp),
  /** Since the last message that arrived. */
  failures: v.number(),
  last: v.optional(lastSending),
};

export interface ChannelSchema extends NamedSchema<typeof channelMembers> {}

export const channel: ChannelSchema = v.object(channelMembers);

export type Channel = v.InferOutput<typeof channel>;
export type LastSending = v.InferOutput<typeof lastSending>;
export type TestOutcome = v.InferOutput<typeof testOutcome>;

const changedChannel = v.object({
  ...channel.entries,
  /** Displayed once, when the server generated it. */
  signing_secret: v.optional(v.string()),
});

const INSTANCES_RULE = "must be a list of ids of instances";

const instanceIds = v.array(
  v.pipe(v.string(INSTANCES_RULE), v.uuid(INSTANCES_RULE)),
  INSTANCES_RULE,
);

/** The members of a target depend on the kind of the channel; the operation checks them. */
const settings = {
  url: v.optional(anyText),
  signing_secret: v.optional(anyText),
  token: v.optional(anyText),
  to: v.optional(texts),
  slack_channel: v.optional(anyText),
  app_token: v.optional(anyText),
  conversation: v.optional(anyText),
  public_key: v.optional(anyText),
  groups: v.optional(groupNames),
  include_arguments: v.optional(flag),
  decide: v.optional(flag),
  on_decision: v.optional(flag),
  instances: v.optional(instanceIds),
  digest: v.optional(
    v.pipe(
      anyText,
      v.union(
        [v.literal("off"), duration(DIGEST_MS_MIN, DIGEST_MS_MAX)],
        "must be a duration from 1m to 24h, or off",
      ),
    ),
  ),
  remind_before: v.optional(
    v.pipe(
      anyText,
      v.union(
        [v.literal("off"), duration(0, REMIND_MS_MAX)],
        "must be a duration like 5m, at most 24h, or off",
      ),
    ),
  ),
};

export const channels = {
  listChannels: operation({
    method: "GET",
    path: "/channels",
    summary: "List the channels of the project.",
    caller: "reviewer",
    power: "read",
    answers: { 200: v.object({ channels: v.array(channel), now: timestamp }) },
    errors: [],
  }),

  createChannel: operation({
    method: "POST",
    path: "/channels",
    summary: "Create a channel for requests that are opened later.",
    caller: "reviewer",
    power: "people",
    body: body({
      name: v.pipe(
        visibleName(NAME_CHARS_MAX),
        v.check((name) => name.trim() === name, NAME_RULE),
      ),
      kind: word(CHANNEL_KINDS),
      ...settings,
    }),
    answers: { 201: changedChannel },
    errors: ["forbidden"],
  }),

  updateChannel: operation({
    method: "PATCH",
    path: "/channels/{id}",
    summary: "Change, disable or enable a channel.",
    caller: "reviewer",
    power: "people",
    body: body({ ...settings, disabled: v.optional(flag) }),
    answers: { 200: changedChannel },
    errors: ["forbidden", "not_found"],
  }),

  deleteChannel: operation({
    method: "DELETE",
    path: "/channels/{id}",
    summary: "Delete a channel.",
    caller: "reviewer",
    power: "people",
    answers: { 200: channel },
    errors: ["forbidden", "not_found"],
  }),

  testChannel: operation({
    method: "POST",
    path: "/channels/{id}/test",
    summary: "Send a test message through a channel.",
    caller: "reviewer",
    power: "people",
    answers: { 200: testOutcome },
    errors: ["forbidden", "not_found"],
  }),
};
