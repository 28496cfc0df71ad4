/**
 * Receives the events of chat platforms over HTTP. The platform authenticates each request with a
 * secret of the channel.
 */

import { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { answerChatEvent } from "../operations/chat/answerChatEvent.ts";
import { receiveChatRequest } from "../operations/chat/receiveChatRequest.ts";
import type { Report } from "../report.ts";
import type { Gate } from "./authenticate.ts";
import { sendJson } from "./exchange.ts";

/** The longest event has a note. */
const BODY_BYTES_MAX = 65_536;

export function addChatRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  report: Report,
): void {
  app.route({
    method: "POST",
    url: "/chat/:project/:channel",
    config: { operation: "receiveChat" },
    bodyLimit: BODY_BYTES_MAX,
    handler: async (request, reply) => {
      const key = channelOf(request);
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array();
      const received = { headers: request.headers, body, now: context.clock.now() };
      const event = await gate.chargeFailure(request, () =>
        receiveChatRequest(context, key, received),
      );
      const answered = await answerChatEvent(context, event);
      answered.replied.catch((error: unknown) => report.dependencyFailed("chat", error));
      if (answered.body === undefined) return reply.code(200).send();
      return sendJson(reply, 200, JSON.stringify(answered.body));
    },
  });
}

/** Hexadecimal ids, with or without hyphens. PostgreSQL rejects some other texts. */
const ID = /^[0-9a-f-]{1,64}$/;

/** @throws Problem `not_found` for ids that cannot exist */
function channelOf({ params }: FastifyRequest) {
  const { project, channel } = params as { readonly project: string; readonly channel: string };
  if (!ID.test(project) || !ID.test(channel)) throw new Problem("not_found");
  return { projectId: project, id: channel };
}
