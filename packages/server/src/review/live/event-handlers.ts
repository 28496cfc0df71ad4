/** `GET /review/v1/events`: hints about a project as Server-Sent Events. */

import type { events } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Gate } from "../../http/authenticate.ts";
import { onClosed, onDisconnect } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import type { Report } from "../../report.ts";
import { EventStream } from "./event-stream.ts";
import { EventStreams } from "./event-streams.ts";

/** @param onClose registers what to do when the server stops */
export function eventHandlers(
  context: Context,
  gate: Pick<Gate, "reauthenticate">,
  report: Report,
  onClose: (stop: () => void) => void,
): Handlers<typeof events> {
  const onFailure = (error: unknown) => report.dependencyFailed("events", error);
  const streams = new EventStreams(context, onFailure);
  onClose(() => streams.stop());
  return {
    async followEvents({ caller, request, reply }) {
      onClosed(reply, streams.acquire(caller.credentialId));
      const reauthenticate = () => gate.reauthenticate(request);
      const stream = new EventStream({ context, streams, caller, reauthenticate, onFailure });
      await stream.open();
      onDisconnect(reply, () => stream.close());
      return reply
        .code(200)
        .header("content-type", "text/event-stream")
        .header("x-accel-buffering", "no")
        .send(stream.body);
    },
  };
}
