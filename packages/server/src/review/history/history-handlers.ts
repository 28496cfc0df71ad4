/** Handlers of the history: pages, statistics and exports of resolved requests. */

import { invalidField } from "@countersign/protocol";
import { HISTORY_FILTERS, type history } from "@countersign/review-api";
import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { isOpen } from "../../core/request-filter.ts";
import { jsonLines, sendStream } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { assertNotCrossSite } from "../../http/same-origin.ts";
import type { KeyedQueue } from "../../keyed-queue.ts";
import { exportHistory } from "../../operations/history/exportHistory.ts";
import { listHistory } from "../../operations/history/listHistory.ts";
import { summarizeHistory } from "../../operations/history/summarizeHistory.ts";
import { findRenderers } from "../../operations/policy/findRenderers.ts";
import type { CallFactsCache } from "../requests/call-facts.ts";
import { ConcurrencyLimiter } from "../shared/concurrency-limiter.ts";
import { EXPORT_FORMATS } from "./export-formats.ts";
import { runQueued } from "./history-queue.ts";
import { toWireInsights, toWirePage } from "./history-to-wire.ts";
import { toFilter } from "./read-filter.ts";

const EXPORTS = {
  // Each export holds a database connection and reads the complete history.
  totalMax: 4,
  sameKey: "Another of your exports is running. Try again when it has finished.",
  otherKeys: "Too many exports are running. Try again shortly.",
};

/**
 * @param onClose registers what stops when the server closes
 * @param queue of queries that may read many rows
 * @param facts of the calls that the lists show
 */
export function historyHandlers(
  context: Context,
  onClose: (stop: () => void) => void,
  queue: KeyedQueue,
  facts: CallFactsCache,
): Handlers<typeof history> {
  const now = () => context.clock.now();
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
        const calls = page.requests.map(({ request }) => request);
        const known = await facts.of(calls, await findRenderers(context, caller.projectId));
        return toWirePage(page, now(), known);
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
