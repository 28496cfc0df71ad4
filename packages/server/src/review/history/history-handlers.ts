/** Handlers of the history: pages, statistics and exports of resolved requests. */

import { invalidField } from "@countersign/protocol";
import { HISTORY_FILTERS, type history, type QueryReceived } from "@countersign/review-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { DECIDER_KINDS, isOpen, type RequestFilter } from "../../core/request-filter.ts";
import { disconnectSignal, jsonLines, sendStream } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { assertNotCrossSite } from "../../http/same-origin.ts";
import type { KeyedQueue } from "../../keyed-queue.ts";
import { exportHistory } from "../../operations/history/exportHistory.ts";
import { listHistory } from "../../operations/history/listHistory.ts";
import { summarizeHistory } from "../../operations/history/summarizeHistory.ts";
import { ConcurrencyLimiter } from "../shared/concurrency-limiter.ts";
import { EXPORT_FORMATS } from "./export-formats.ts";
import { createHistoryQueue } from "./history-queue.ts";
import { toWireInsights, toWirePage } from "./history-to-wire.ts";

const EXPORTS = {
  // Each export holds a database connection and reads the complete history.
  totalMax: 4,
  sameKey: "Another of your exports is running. Try again when it has finished.",
  otherKeys: "Too many exports are running. Try again shortly.",
};

/** @param onClose registers what stops when the server closes */
export function historyHandlers(
  context: Context,
  onClose: (stop: () => void) => void,
): Handlers<typeof history> {
  const now = () => context.clock.now();
  const queue = createHistoryQueue();
  const limiter = new ConcurrencyLimiter(EXPORTS);
  onClose(() => limiter.stop());
  return {
    async listHistory({ caller, query, reply }) {
      const { limit, after, before } = query;
      if (after !== undefined && before !== undefined) {
        throw invalidField("before", "cannot be combined with after");
      }
      const filter = toFilter(query);
      const list = async (gone?: AbortSignal) => {
        const page = await listHistory(context, caller, { filter, limit, after, before }, gone);
        return toWirePage(page, now());
      };
      // Without a filter, the query reads only the rows of the page.
      return isOpen(filter) ? list() : runQueued(reply, queue, caller.reviewerId, list);
    },

    async summarizeHistory({ caller, query, reply }) {
      const filter = toFilter(query);
      return runQueued(reply, queue, caller.reviewerId, async (gone) => {
        return toWireInsights(await summarizeHistory(context, caller, filter, gone), now());
      });
    },

    async exportHistory({ caller, query: { format: name, ...query }, request, reply }) {
      if (caller.session !== null) assertNotCrossSite(request);
      const format = EXPORT_FORMATS[name];
      const order = { filter: toFilter(query), format: name, query: filterText(request) };
      const headers = {
        "content-type": format.contentType,
        "content-disposition": `attachment; filename="history.${name}"`,
      };
      const failed = name === "jsonl" ? jsonLines(request).failed : undefined;
      return limiter.run(caller.reviewerId, (stopping) =>
        sendStream(request, reply, { headers, failed }, async ({ write, signal }) => {
          let head = format.head;
          await exportHistory(context, caller, order, {
            emit: async (event) => {
              await write(head + format.write(event, now()));
              head = "";
            },
            signal: AbortSignal.any([stopping, signal]),
          });
        }),
      );
    },
  };
}

/** Runs the search when a slot is free, unless the client has disconnected. */
async function runQueued<T>(
  reply: FastifyReply,
  queue: KeyedQueue,
  reviewerId: string,
  search: (gone: AbortSignal) => Promise<T>,
): Promise<T | FastifyReply> {
  const gone = disconnectSignal(reply);
  try {
    return await queue.run([reviewerId], () => search(gone), gone);
  } catch (error) {
    if (gone.aborted && error === gone.reason) return reply.hijack();
    throw error;
  }
}

/** The filter in the form of the audit entry. */
function filterText({ query }: FastifyRequest): string {
  const parameters = query as Readonly<Record<string, string>>;
  const params = new URLSearchParams();
  for (const name of HISTORY_FILTERS) {
    const value = parameters[name];
    if (value !== undefined) params.set(name, value);
  }
  return params.toString();
}

type Filter = QueryReceived<typeof history.summarizeHistory>;

/** @throws Problem `invalid_request` naming the parameter */
function toFilter(query: Filter): RequestFilter {
  const { since, until, decided_by: decidedBy } = query;
  if (since !== undefined && until !== undefined && until <= since) {
    throw invalidField("until", "must be later than since");
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
