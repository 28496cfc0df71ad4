/** Statistics over time, and the calls of an agent's session. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { anyStatus } from "./request-shapes.ts";
import { actor, id, named, timeParameter, timestamp, wordParameter } from "./schema.ts";

const statusCounts = v.object({
  approved: v.number(),
  denied: v.number(),
  expired: v.number(),
  cancelled: v.number(),
});

/** At most 20 rows, most requests first. */
function ranking<const Key extends v.ObjectEntries>(key: Key) {
  return v.object({
    top: v.array(v.object({ ...key, ...statusCounts.entries, total: v.number() })),
    /** Rows, including those after the top. */
    count: v.number(),
  });
}

const statistics = v.object({
  since: timestamp,
  until: timestamp,
  looked_at: v.number(),
  /** False when there are older requests in the range than the server searched. */
  complete: v.boolean(),
  /** The oldest decision that the server searched; null without any. */
  looked_back_to: v.nullable(timestamp),
  total: v.number(),
  by_status: statusCounts,
  /** Without gaps; the first bucket starts at `since`. */
  buckets: v.array(v.object({ from: timestamp, ...statusCounts.entries })),
  by_decider: v.object({
    reviewer: v.number(),
    policy: v.number(),
    grant: v.number(),
    freeze: v.number(),
    instance: v.number(),
    system: v.number(),
  }),
  people: v.object({
    decisions: v.number(),
    /** From creation to decision; null without any. */
    p50_ms: v.nullable(v.number()),
    p90_ms: v.nullable(v.number()),
    approvals_under_2_s: v.number(),
  }),
  /** Expired requests among those that expired or that a reviewer decided; null without any. */
  expiry_rate: v.nullable(v.number()),
  by_tool: ranking({ tool: v.string() }),
  by_server: ranking({ server: v.string() }),
  by_instance: ranking({ instance: named }),
  by_reviewer: ranking({ reviewer: v.object({ id, name: v.optional(v.string()) }) }),
  by_rule: ranking({ rule: v.string() }),
  now: timestamp,
});

const sessionCall = v.object({
  id,
  tool: v.string(),
  server: v.optional(v.string()),
  status: anyStatus,
  created_at: timestamp,
  decided_at: v.optional(timestamp),
  decided_by: v.optional(actor),
  /** The name of the reviewer who decided. */
  decider: v.optional(v.string()),
  consumed_at: v.optional(timestamp),
  outcome: v.optional(
    v.object({
      status: v.picklist(["succeeded", "failed"]),
      reported_at: timestamp,
    }),
  ),
});

const agentSession = v.object({
  instance: named,
  /** The agent claims it; absent when the request has none. */
  session: v.optional(v.string()),
  /** In the order of their creation. */
  calls: v.array(sessionCall),
  /** False when the server did not search all earlier requests of the instance. */
  complete_before: v.boolean(),
  /** False when the server did not search all later requests of the instance. */
  complete_after: v.boolean(),
  now: timestamp,
});

export type StatusCounts = v.InferOutput<typeof statusCounts>;
export type StatisticsAnswer = v.InferOutput<typeof statistics>;
export type SessionCall = v.InferOutput<typeof sessionCall>;
export type AgentSession = v.InferOutput<typeof agentSession>;

export const statisticsOperations = {
  showStatistics: operation({
    method: "GET",
    path: "/statistics",
    summary: "Count resolved requests over time, and by tool, server, instance, reviewer and rule.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      since: timeParameter,
      until: timeParameter,
      bucket: v.optional(wordParameter(["hour", "day"]), "day"),
    }),
    answers: { 200: statistics },
    errors: [],
  }),

  showAgentSession: operation({
    method: "GET",
    path: "/requests/{id}/session",
    summary: "List the calls of the agent session of a request.",
    caller: "reviewer",
    power: "read",
    answers: { 200: agentSession },
    errors: ["not_found"],
  }),
};
