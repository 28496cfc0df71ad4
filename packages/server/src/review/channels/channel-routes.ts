/**
 * Channels, through which reviewers are told that a call waits. For reviewer tokens only; where a
 * channel leads is never shown in full.
 */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { createChannel } from "../../operations/channels/createChannel.ts";
import { deleteChannel } from "../../operations/channels/deleteChannel.ts";
import { listChannels } from "../../operations/channels/listChannels.ts";
import { testChannel } from "../../operations/channels/testChannel.ts";
import { updateChannel } from "../../operations/channels/updateChannel.ts";
import { parseChannel, parseChannelChange } from "./parse-channel.ts";
import { toWireSending, writeOutcome } from "./sending-wire.ts";
import { TestLimit } from "./test-limit.ts";

const CHANNELS = "/review/v1/channels";

export function addChannelRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;
  const tests = new TestLimit(context.clock);

  app.get(
    CHANNELS,
    { config: { operation: "listChannels" }, onRequest },
    async (request, reply) => {
      const channels = await listChannels(context, callerOf(request, "reviewer"));
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, JSON.stringify({ channels: channels.map(toWire), now }));
    },
  );

  app.post(
    CHANNELS,
    { config: { operation: "createChannel" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const order = parseChannel(jsonBody(request));
      const { channel, signingSecret } = await createChannel(context, caller, order);
      request.subjectId = channel.id;
      return sendJson(reply, 201, write(channel, signingSecret));
    },
  );

  app.patch(
    `${CHANNELS}/:id`,
    { config: { operation: "updateChannel" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const change = parseChannelChange(jsonBody(request));
      const id = pathIdentifier(request);
      const { channel, signingSecret } = await updateChannel(context, caller, id, change);
      return sendJson(reply, 200, write(channel, signingSecret));
    },
  );

  app.delete(
    `${CHANNELS}/:id`,
    { config: { operation: "deleteChannel" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const channel = await deleteChannel(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, write(channel));
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${CHANNELS}/:id/test`,
    { config: { operation: "testChannel" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const begin = () => tests.take(caller.projectId);
      const outcome = await testChannel(context, caller, pathIdentifier(request), begin);
      return sendJson(reply, 200, JSON.stringify(writeOutcome(outcome)));
    },
  );
}

/** @param signingSecret one that was made here: shown this once */
function write(channel: StoredChannel, signingSecret?: string): string {
  return JSON.stringify({
    ...toWire(channel),
    ...(signingSecret !== undefined && { signing_secret: signingSecret }),
  });
}

function toWire(channel: StoredChannel): object {
  const { id, name, kind, groups, remindMs, disabledAt, failures, last } = channel;
  return {
    id,
    name,
    kind,
    target: channel.targetShown,
    groups,
    include_arguments: channel.includesArguments,
    ...(remindMs !== null && { remind_before: formatDuration(remindMs) }),
    state: disabledAt === null ? "enabled" : "disabled",
    created_at: formatTimestamp(channel.createdAt),
    created_by: channel.createdBy,
    ...(disabledAt !== null && { disabled_at: formatTimestamp(disabledAt) }),
    failures,
    ...(last !== null && {
      last: toWireSending(last),
    }),
  };
}
