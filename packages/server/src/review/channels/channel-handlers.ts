/** Handlers of the channels. */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import type { BodyReceived, Channel, channels, Writable } from "@countersign/review-api";
import { eventsUrlOf, publicUrlOf } from "../../config/public-url.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { createChannel, type TargetOrder } from "../../operations/channels/createChannel.ts";
import { deleteChannel } from "../../operations/channels/deleteChannel.ts";
import { listChannels } from "../../operations/channels/listChannels.ts";
import { testChannel } from "../../operations/channels/testChannel.ts";
import { updateChannel } from "../../operations/channels/updateChannel.ts";
import { showChatConnection } from "../../operations/chat/claimChatConnection.ts";
import { toWireOutcome, toWireSending } from "./sending-to-wire.ts";
import { createTestLimit } from "./test-limit.ts";

export function channelHandlers(context: Context): Handlers<typeof channels> {
  const chargeTest = createTestLimit(context.clock);
  return {
    async listChannels({ caller }) {
      const listed = await listChannels(context, caller);
      return {
        channels: await Promise.all(listed.map((channel) => withConnection(context, channel))),
        now: formatTimestamp(context.clock.now()),
      };
    },

    async createChannel({ caller, body, request }) {
      const { channel, signingSecret } = await createChannel(context, caller, {
        name: body.name,
        kind: body.kind,
        ...targetOf(body),
        groups: body.groups ?? [],
        includesArguments: body.include_arguments ?? false,
        decides: body.decide ?? false,
        sendsDecisions: body.on_decision ?? false,
        instanceIds: body.instances ?? [],
        digestMs: body.digest === "off" ? null : (body.digest ?? null),
        remindMs: remindMsOf(body) ?? null,
      });
      request.subjectId = channel.id;
      return { ...(await withConnection(context, channel)), signing_secret: signingSecret };
    },

    async updateChannel({ caller, path, body }) {
      const { channel, signingSecret } = await updateChannel(context, caller, path.id, {
        ...targetOf(body),
        groups: body.groups,
        includesArguments: body.include_arguments,
        decides: body.decide,
        sendsDecisions: body.on_decision,
        instanceIds: body.instances,
        digestMs: body.digest === "off" ? null : body.digest,
        remindMs: remindMsOf(body),
        isDisabled: body.disabled,
      });
      return { ...(await withConnection(context, channel)), signing_secret: signingSecret };
    },

    async deleteChannel({ caller, path }) {
      return toWire(context, await deleteChannel(context, caller, path.id));
    },

    async testChannel({ caller, path }) {
      const charge = () => chargeTest(caller.projectId);
      return toWireOutcome(await testChannel(context, caller, path.id, charge));
    },
  };
}

type Settings = BodyReceived<typeof channels.updateChannel>;

function targetOf(settings: Omit<Settings, "disabled">): TargetOrder {
  const { url, signing_secret: signingSecret, token, to } = settings;
  const { slack_channel: slackChannel, app_token: appToken } = settings;
  const { conversation, public_key: publicKey } = settings;
  const named = { slackChannel, appToken, conversation, publicKey };
  return { url, signingSecret, token, to, ...named };
}

function remindMsOf({ remind_before }: Pick<Settings, "remind_before">): number | null | undefined {
  return remind_before === "off" ? null : remind_before;
}

async function withConnection(
  context: Context,
  channel: StoredChannel,
): Promise<Writable<Channel>> {
  const connection = await showChatConnection(context, channel);
  const shown = toWire(context, channel);
  if (connection === undefined) return shown;
  const { state, changedAt } = connection;
  return { ...shown, connection: { state, changed_at: formatTimestamp(changedAt) } };
}

function toWire({ settings }: Context, channel: StoredChannel): Writable<Channel> {
  const { remindMs, disabledAt, last } = channel;
  return {
    id: channel.id,
    name: channel.name,
    kind: channel.kind,
    target: channel.targetShown,
    groups: channel.groups,
    include_arguments: channel.includesArguments,
    decide: channel.decides,
    on_decision: channel.sendsDecisions,
    instances: channel.instanceIds,
    digest: channel.digestMs === null ? undefined : formatDuration(channel.digestMs),
    events_url: channel.decides ? eventsUrlOf(publicUrlOf(settings), channel) : undefined,
    remind_before: remindMs === null ? undefined : formatDuration(remindMs),
    state: disabledAt === null ? "enabled" : "disabled",
    created_at: formatTimestamp(channel.createdAt),
    created_by: channel.createdBy,
    disabled_at: disabledAt === null ? undefined : formatTimestamp(disabledAt),
    failures: channel.failures,
    last: last === null ? undefined : toWireSending(last),
  };
}
