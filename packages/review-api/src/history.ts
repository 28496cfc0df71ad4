/** History: requests that ended, page by page, in numbers and as an export. */

import * as v from "valibot";
import { filter } from "./history-shapes.ts";
import { operation } from "./operation.ts";
import { line, STATUSES } from "./request-shapes.ts";
import {
  actor,
  cursor,
  cursorParameter,
  exactObject,
  id,
  limitParameter,
  named,
  page,
  projectParameter,
  sha256,
  timestamp,
  wordParameter,
} from "./schema.ts";

/** In the order in which the audit log has them. */
export const HISTORY_FILTERS = Object.keys(filter);

const endedMembers = {
  id,
  tool: v.string(),
  server: v.optional(v.string()),
  instance: named,
  status: v.picklist(STATUSES),
  created_at: timestamp,
  deadline_at: timestamp,
  decided_at: timestamp,
  expires_at: v.optional(timestamp),
  /** Of an approval. */
  validity_passed: v.optional(v.boolean()),
  decided_by: actor,
  /** The name of the reviewer who decided. */
  decider: v.optional(v.string()),
  note: v.nullable(v.string()),
};

const endedRequest = v.object({ ...endedMembers, line });

/** The time of the oldest decision that the server searched; null without any. */
const scannedBackTo = v.nullable(timestamp);

const decisionTimes = v.object({
  decisions: v.number(),
  /** From creation to decision; null without any. */
  median_ms: v.nullable(v.number()),
  under_2_s_after_creation: v.number(),
});

const insights = v.object({
  looked_at: v.number(),
  /** False when there are older requests than the server searched. */
  complete: v.boolean(),
  looked_back_to: scannedBackTo,
  matching: v.number(),
  by_status: v.object({
    approved: v.number(),
    denied: v.number(),
    expired: v.number(),
    cancelled: v.number(),
  }),
  /** Of approvals among approvals and denials; null without any. */
  share_approved: v.nullable(v.number()),
  by_people: decisionTimes,
  own: decisionTimes,
  now: timestamp,
});

const exportLine = v.union([
  v.object({
    ...endedMembers,
    timeout: v.string(),
    arguments: exactObject,
    arguments_sha256: sha256,
    agent_reasoning: v.nullable(v.string()),
    context: v.nullable(exactObject),
  }),
  /** A request that the database cannot read. */
  v.object({ event: v.literal("damaged"), id }),
  /** The last line of a complete export. */
  v.object({ event: v.literal("end"), rows: v.number() }),
]);

export type ExportLine = v.InferOutput<typeof exportLine>;
export type EndedRequest = v.InferOutput<typeof endedRequest>;
export type HistoryInsights = v.InferOutput<typeof insights>;
export type DecisionTimes = v.InferOutput<typeof decisionTimes>;

export const history = {
  listHistory: operation({
    method: "GET",
    path: "/history",
    summary: "List resolved requests, the latest decision first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      limit: limitParameter,
      after: page.after,
      /** Excludes `after`. */
      before: cursorParameter("previous"),
      ...filter,
    }),
    answers: {
      200: v.object({
        requests: v.array(endedRequest),
        /** Requests that the database cannot read. */
        damaged: v.optional(v.array(id)),
        next: cursor,
        previous: cursor,
        looked_back_to: scannedBackTo,
        now: timestamp,
      }),
    },
    errors: [],
  }),

  summarizeHistory: operation({
    method: "GET",
    path: "/history/insights",
    summary: "Count resolved requests.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject(filter),
    answers: { 200: insights },
    errors: [],
  }),

  exportHistory: operation({
    method: "GET",
    path: "/history/export",
    summary: "Export resolved requests as CSV or JSON lines.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      format: wordParameter(["csv", "jsonl"]),
      project: projectParameter,
      ...filter,
    }),
    answers: {
      200: { stream: "application/x-ndjson", line: exportLine, otherStream: "text/csv" },
    },
    errors: ["cross_origin"],
  }),
};
