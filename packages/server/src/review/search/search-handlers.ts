/** Handler of the full-text search. */

import { formatTimestamp } from "@countersign/protocol";
import {
  JsonText,
  type search,
  type FoundRequest as WireFound,
  type Writable,
  writeCursor,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { textOf } from "../../http/wire.ts";
import type { KeyedQueue } from "../../keyed-queue.ts";
import { findRenderers } from "../../operations/policy/findRenderers.ts";
import { type FoundRequest, searchRequests } from "../../operations/search/searchRequests.ts";
import { runQueued } from "../history/history-queue.ts";
import { toFilter } from "../history/read-filter.ts";
import type { CallFacts, CallFactsCache } from "../requests/call-facts.ts";

/**
 * @param queue of queries that may read many rows
 * @param facts of the calls that the lists show
 */
export function searchHandlers(
  context: Context,
  queue: KeyedQueue,
  facts: CallFactsCache,
): Handlers<typeof search> {
  return {
    async searchRequests({ caller, query, reply }) {
      const { q: text, limit, after, ...filters } = query;
      const filter = toFilter(filters);
      return runQueued(reply, queue, caller.reviewerId, async (gone) => {
        const page = await searchRequests(context, caller, { text, filter, limit, after }, gone);
        const calls = page.found.map(({ request }) => request);
        const known = await facts.of(calls, await findRenderers(context, caller.projectId));
        return {
          requests: page.found.map((found, i) => toWireFound(found, known[i])),
          next: writeCursor(page.next),
        };
      });
    },
  };
}

function toWireFound(
  { request, instanceName, decider, requirement, matches }: FoundRequest,
  facts: CallFacts | undefined,
): Writable<WireFound> {
  const { decision } = request;
  return {
    id: request.id,
    tool: new JsonText(request.tool),
    server: textOf(request.server),
    instance: { id: request.instanceId, name: new JsonText(instanceName) },
    status: request.status,
    created_at: formatTimestamp(request.createdAt),
    decided_at: decision === null ? undefined : formatTimestamp(decision.decidedAt),
    decided_by: decision?.decidedBy,
    decider,
    confirm: requirement.confirm.kind,
    line: facts?.line,
    matches: matches.map(({ field, excerpt }) => ({
      field,
      excerpt: excerpt.map(({ text, isMatch }) => ({ text, match: isMatch })),
    })),
  };
}
