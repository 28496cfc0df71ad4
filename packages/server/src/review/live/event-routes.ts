/** `GET /review/v1/events`: hints about a project as Server-Sent Events. */

import type { FastifyInstance } from "fastify";
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
      reply.raw.once("close", streams.take(caller.credentialId));
      const reauthenticate = () => gate.lookAgain(request);
      const stream = new EventStream({ context, streams, caller, reauthenticate, onFailure });
      await stream.open();
      onGone(reply, () => stream.close());
      return reply
        .code(200)
        .header("content-type", "text/event-stream")
        .header("x-accel-buffering", "no")
        .send(stream.body);
    },
  );
}
