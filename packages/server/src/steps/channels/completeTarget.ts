import { invalidField, Problem } from "@countersign/protocol";
import type { Random } from "../../clock.ts";
import type { Context } from "../../context.ts";
import type {
  ChannelKind,
  ChannelTarget,
  MattermostTarget,
  TelegramTarget,
} from "../../core/channel.ts";

/** The fields of a target in an input. The kind determines the required ones. */
export interface TargetOrder {
  readonly url: string | undefined;
  readonly signingSecret: string | undefined;
  readonly token: string | undefined;
  readonly to: readonly string[] | undefined;
  readonly slackChannel: string | undefined;
  readonly appToken: string | undefined;
  readonly conversation: string | undefined;
  readonly publicKey: string | undefined;
}

const FIELDS: Readonly<Record<ChannelKind, readonly (keyof TargetOrder)[]>> = {
  webhook: ["url", "signingSecret"],
  slack: ["url"],
  teams: ["url"],
  slack_app: ["token", "slackChannel", "signingSecret", "appToken"],
  telegram: ["token", "conversation"],
  discord: ["token", "conversation", "publicKey"],
  mattermost: ["url", "token", "conversation"],
  ntfy: ["url", "token"],
  email: ["to"],
};

const NAMES: Readonly<Record<keyof TargetOrder, string>> = {
  url: "url",
  signingSecret: "signing_secret",
  token: "token",
  to: "to",
  slackChannel: "slack_channel",
  appToken: "app_token",
  conversation: "conversation",
  publicKey: "public_key",
};

/**
 * Creates the target of a channel, with a new signing secret if the kind needs one.
 *
 * @param before the target that the new one replaces. Its messages stay valid.
 * @throws Problem `invalid_request` naming a missing, invalid or unsupported field
 */
export function completeTarget(
  { random, notifier }: Pick<Context, "random" | "notifier">,
  kind: ChannelKind,
  order: TargetOrder,
  before?: ChannelTarget,
): { readonly target: ChannelTarget; readonly signingSecret: string | undefined } {
  for (const field of Object.keys(NAMES) as (keyof TargetOrder)[]) {
    if (order[field] === undefined || FIELDS[kind].includes(field)) continue;
    throw invalidField(NAMES[field], `is not allowed for channels of kind ${kind}`);
  }
  const isMade = kind === "webhook" && order.signingSecret === undefined;
  const signingSecret = isMade ? newSigningSecret(random) : undefined;
  const target =
    kind === "mattermost" || kind === "telegram"
      ? { ...botTarget(kind, order), secret: botSecret(random, before) }
      : toTarget(kind, order, signingSecret);
  const fault = notifier.faultOf(target);
  if (fault !== undefined) throw invalidField(fault.field, fault.rule);
  return { target, signingSecret };
}

function toTarget(
  kind: Exclude<ChannelKind, "mattermost" | "telegram">,
  order: TargetOrder,
  made: string | undefined,
): ChannelTarget {
  const { url, signingSecret, token, to, slackChannel, appToken } = order;
  if (kind === "email") return { kind, to: required(to, "to") };
  if (kind === "slack_app") {
    return {
      kind,
      token: required(token, "token"),
      slackChannel: required(slackChannel, "slack_channel"),
      ...(signingSecret !== undefined && { signingSecret }),
      ...(appToken !== undefined && { appToken }),
    };
  }
  if (kind === "discord") {
    const { publicKey } = order;
    return { kind, ...conversationOf(order), ...(publicKey !== undefined && { publicKey }) };
  }
  const known = required(url, "url");
  if (kind === "slack" || kind === "teams") return { kind, url: known };
  if (kind === "webhook") return { kind, url: known, secret: signingSecret ?? made ?? "" };
  return { kind, url: known, ...(token !== undefined && { token }) };
}

type BotTarget = Omit<MattermostTarget, "secret"> | Omit<TelegramTarget, "secret">;

function botTarget(kind: BotTarget["kind"], order: TargetOrder): BotTarget {
  if (kind === "telegram") return { kind, ...conversationOf(order) };
  const url = required(order.url, "url").replace(/\/+$/, "");
  return { kind, url, ...conversationOf(order) };
}

function conversationOf({ token, conversation }: TargetOrder) {
  return {
    token: required(token, "token"),
    conversation: required(conversation, "conversation"),
  };
}

/** The secret of buttons and references, which is never displayed. */
function botSecret(random: Random, before: ChannelTarget | undefined): string {
  if (before?.kind === "mattermost" || before?.kind === "telegram") return before.secret;
  return Buffer.from(random.bytes(SECRET_BYTES)).toString("base64url");
}

function required<T>(value: T | undefined, param: string): T {
  if (value !== undefined) return value;
  throw new Problem("invalid_request", `${param} is required.`, { param });
}

const SECRET_BYTES = 32;

function newSigningSecret(random: Random): string {
  return `whsec_${Buffer.from(random.bytes(SECRET_BYTES)).toString("base64")}`;
}
