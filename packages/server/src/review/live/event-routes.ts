/**
 * What happens in a project, as Server-Sent Events: for pages that stay open.
 */

import { invalidField } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { onGone } from "../../http/exchange.ts";
import type { Report } from "../../report.ts";
import { EventStream } from "./event-stream.ts";
import { EventStreams } from "./event-streams.ts";

export function addEventRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  report: Report,
): void {
  const onFailure = (error: unknown) => report.dependencyFailed("events", error);
  const streams = new EventStreams(context, onFailure);
  app.addHook("preClose", (done) => {
    streams.stop();
    done();
  });

  app.get(
    "/review/v1/events",
    {
      config: { operation: "followEvents", isBackground: true },
      onRequest: gate.admit("reviewer"),
    },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const lastEventId = readLastEventId(request);
      const giveBack = streams.take(caller.credentialId);
      reply.raw.once("close", giveBack);
      const stream = new EventStream({
        context,
        streams,
        caller,
        publicUrl,
        onFailure,
        lastEventId,
        lookAgain: () => gate.lookAgain(request),
      });
      await stream.begin();
      onGone(reply, () => stream.close());
      return reply
        .code(200)
        .header("content-type", "text/event-stream")
        .header("x-accel-buffering", "no")
        .send(stream.body);
    },
  );
}

/** Of a browser that reconnects, or of a client that can set no header. */
function readLastEventId({ headers, query }: FastifyRequest): string | undefined {
  const given = headers["last-event-id"] ?? (query as Record<string, unknown>).last_event_id;
  if (given === undefined || typeof given === "string") return given;
  throw invalidField("last_event_id", "must be given once");
}
