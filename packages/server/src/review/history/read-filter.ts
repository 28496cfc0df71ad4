/** Reads the filters of the history from a query. */

import { invalidField } from "@countersign/protocol";
import type { history, QueryReceived } from "@countersign/review-api";
import { DECIDER_KINDS, type RequestFilter } from "../../core/request-filter.ts";

type Filter = QueryReceived<typeof history.summarizeHistory>;

/** @throws Problem `invalid_request` naming the parameter */
export function toFilter(query: Filter): RequestFilter {
  const { since, until, decided_by: decidedBy } = query;
  if (since !== undefined && until !== undefined && until <= since) {
    throw invalidField("until", "must be later than the start of the period (since)");
  }
  if (decidedBy !== undefined && !isDecider(decidedBy)) {
    throw invalidField("decided_by", `must begin with one of ${DECIDER_KINDS.join(", ")}`);
  }
  return {
    tool: query.tool,
    toolPrefix: query.tool_prefix,
    server: query.server,
    instanceId: query.instance_id,
    decidedBy,
    statuses: query.status,
    since,
    until,
  };
}

function isDecider(text: string): boolean {
  const [kind = ""] = text.split(":", 1);
  return DECIDER_KINDS.some((known) => known === kind) && !text.endsWith(":");
}
