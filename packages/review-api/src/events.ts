/** Live hints about a project. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { projectParameter } from "./schema.ts";

export const events = {
  followEvents: operation({
    method: "GET",
    path: "/events",
    summary: "Stream changes of the project as Server-Sent Events.",
    caller: "reviewer",
    power: "read",
    background: true,
    query: v.strictObject({ project: projectParameter }),
    answers: { 200: { stream: "text/event-stream" } },
    errors: [],
  }),
};

/** The data of each event of the stream, by its name. */
export interface StreamEvents {
  /** Before every other event; then everything that was fetched earlier may be old. */
  readonly ready: { readonly pulse_ms: number };
  /** A request changed. */
  readonly request: { readonly id: string };
  /** A freeze was set or lifted. */
  readonly freezes: Readonly<Record<string, never>>;
  /** The permissions of the caller changed. */
  readonly caller: Readonly<Record<string, never>>;
  /** Every `pulse_ms` milliseconds; a client that misses two has lost the connection. */
  readonly pulse: Readonly<Record<string, never>>;
  /** The last event. */
  readonly end: { readonly reason: "signed_out" | "project" | "shutdown" };
}
