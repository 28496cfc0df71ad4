/** Live hints about a project. */

import { operation } from "./operation.ts";

export const events = {
  followEvents: operation({
    method: "GET",
    path: "/events",
    summary: "Follow what changes in the project, as Server-Sent Events.",
    caller: "reviewer",
    power: "read",
    background: true,
    answers: { 200: { stream: "text/event-stream" } },
    errors: [],
  }),
};
