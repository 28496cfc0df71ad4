/** The schema of channels. The server checks the values of the targets. */

import { CHANNEL_KINDS, type Channel } from "@countersign/review-api";
import * as v from "valibot";
import { duration, flag, names, text } from "../schemas.ts";
import { secretSource } from "../secrets.ts";

const offOr = v.union([v.literal("off"), duration], "must be a duration, such as 5m, or off");

const ADDRESSES = "must be a list of addresses";

const addresses = v.array(v.pipe(v.string(ADDRESSES), v.minLength(1, ADDRESSES)), ADDRESSES);

const members = v.strictObject({
  kind: v.literal("Channel"),
  name: text,
  type: v.picklist(CHANNEL_KINDS, `must be one of ${CHANNEL_KINDS.join(", ")}`),
  url: v.optional(text),
  url_from: v.optional(secretSource),
  token_from: v.optional(secretSource),
  signing_secret_from: v.optional(secretSource),
  app_token_from: v.optional(secretSource),
  to: v.optional(addresses),
  /** Addresses with commas between them. */
  to_from: v.optional(secretSource),
  slack_channel: v.optional(text),
  conversation: v.optional(text),
  public_key: v.optional(text),
  groups: v.optional(names, []),
  agents: v.optional(names, []),
  include_arguments: v.optional(flag, false),
  decide: v.optional(flag, false),
  on_decision: v.optional(flag, false),
  digest: v.optional(offOr, "off"),
  remind_before: v.optional(offOr, "off"),
  enabled: v.optional(flag, true),
});

export type ChannelSpec = v.InferOutput<typeof members>;

type Target = "url" | "token" | "to" | "slack_channel" | "conversation";

const BOT: readonly Target[] = ["token", "conversation"];

/** The required members of the target of a type. */
const REQUIRED: Readonly<Record<Channel["kind"], readonly Target[]>> = {
  webhook: ["url"],
  slack: ["url"],
  teams: ["url"],
  ntfy: ["url"],
  email: ["to"],
  slack_app: ["token", "slack_channel"],
  telegram: BOT,
  discord: BOT,
  mattermost: ["url", ...BOT],
};

/** The members that a document can give a member of the target by. */
const SPELLINGS: Readonly<Partial<Record<Target, readonly string[]>>> = {
  url: ["url", "url_from"],
  token: ["token_from"],
  to: ["to", "to_from"],
};

export const channelSchema = v.pipe(
  members,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const spec = dataset.value;
    for (const name of REQUIRED[spec.type]) {
      const spellings = SPELLINGS[name] ?? [name];
      const given = spellings.filter((key) => spec[key as keyof ChannelSpec] !== undefined);
      const subject = `a channel of the type ${spec.type}`;
      if (given.length === 0) addIssue({ message: `${subject} needs ${spellings.join(" or ")}` });
      if (given.length > 1) addIssue({ message: `${subject} has both ${given.join(" and ")}` });
    }
  }),
);
