/**
 * What has ended: looked at page by page, in numbers, and taken away as a file.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { DECIDER_KINDS, isOpen, type RequestFilter } from "../../core/request-filter.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { goneSignal, jsonLines, sendJson, sendPieces } from "../../http/exchange.ts";
import { assertNotLedHere } from "../../http/same-origin.ts";
import { exportHistory } from "../../operations/history/exportHistory.ts";
import { listHistory } from "../../operations/history/listHistory.ts";
import { summarizeHistory } from "../../operations/history/summarizeHistory.ts";
import {
  instanceParameter,
  textParameter,
  timeParameter,
  twoWayParameters,
  wrong,
} from "../shared/listing-parameters.ts";
import { RunSlots } from "../shared/run-slots.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  writeHistoryPage,
  writeInsights,
} from "./history-wire.ts";
import { LookLine } from "./look-line.ts";

const HISTORY = "/review/v1/history";

const EXPORTS = { own: "An export of yours", others: "Too many exports" };

/** Of one process: each holds a connection and reads all there is. */
const EXPORTS_AT_ONCE_MAX = 4;

export function addHistoryRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const line = new LookLine();
  const slots = new RunSlots(EXPORTS, EXPORTS_AT_ONCE_MAX);
  app.addHook("preClose", (done) => {
    slots.stop();
    done();
  });

  app.get(HISTORY, { config: { operation: "listHistory" }, onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const listing = { filter: filterOf(request), ...twoWayParameters(request) };
    const look = async (gone?: AbortSignal) => {
      const page = await listHistory(context, caller, listing, gone);
      return writeHistoryPage(page, context.clock.now());
    };
    // Without a filter it reads no more than it shows.
    if (isOpen(listing.filter)) return sendJson(reply, 200, await look());
    return sendLook(reply, line, caller.reviewerId, look);
  });

  app.get(
    `${HISTORY}/insights`,
    { config: { operation: "summarizeHistory" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const filter = filterOf(request);
      return sendLook(reply, line, caller.reviewerId, async (gone) => {
        const summary = await summarizeHistory(context, caller, filter, gone);
        return writeInsights(summary, context.clock.now());
      });
    },
  );

  app.get(
    `${HISTORY}/export`,
    { config: { operation: "exportHistory" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      if (caller.session !== null) assertNotLedHere(request);
      const format = formatOf(request);
      const filter = filterOf(request);
      const order = { filter, format: format.suffix, query: queryOf(request) };
      const slot = slots.take(caller.reviewerId);
      const headers = {
        "content-type": format.contentType,
        "content-disposition": `attachment; filename="history.${format.suffix}"`,
      };
      const failed = format.suffix === "jsonl" ? jsonLines(request).failed : undefined;
      try {
        return await sendPieces(request, reply, { headers, failed }, async ({ write, signal }) => {
          let head = format.head;
          await exportHistory(context, caller, order, {
            tell: async (event) => {
              await write(head + format.write(event, context.clock.now()));
              head = "";
            },
            signal: AbortSignal.any([slot.signal, signal]),
          });
        });
      } finally {
        slot.release();
      }
    },
  );
}

/** Answers with JSON that takes going through much, when it is its owner's turn. */
async function sendLook(
  reply: FastifyReply,
  line: LookLine,
  owner: string,
  look: (gone: AbortSignal) => Promise<string>,
): Promise<FastifyReply> {
  const gone = goneSignal(reply);
  try {
    return sendJson(reply, 200, await line.run(owner, gone, () => look(gone)));
  } catch (error) {
    if (gone.aborted && error === gone.reason) return reply.hijack();
    throw error;
  }
}

const FILTERS = [
  "tool",
  "tool_prefix",
  "server",
  "instance_id",
  "decided_by",
  "status",
  "since",
  "until",
];

/** What the audit log says of it. */
function queryOf(request: FastifyRequest): string {
  const given = FILTERS.flatMap((name) => {
    const value = textParameter(request, name);
    return value === undefined ? [] : [[name, value] as [string, string]];
  });
  return new URLSearchParams(given).toString();
}

/** @throws Problem `invalid_request` naming the parameter */
function filterOf(request: FastifyRequest): RequestFilter {
  const [since, until] = [timeParameter(request, "since"), timeParameter(request, "until")];
  if (since !== undefined && until !== undefined && until <= since) {
    throw wrong("until", "must be later than since");
  }
  return {
    tool: nameOf(request, "tool"),
    toolPrefix: nameOf(request, "tool_prefix"),
    server: nameOf(request, "server"),
    instanceId: instanceParameter(request),
    decidedBy: deciderOf(request),
    statuses: statusesOf(request),
    since,
    until,
  };
}

const TEXT_CHARS_MAX = 4_096;

function nameOf(request: FastifyRequest, name: string): string | undefined {
  const text = textParameter(request, name);
  if (text === undefined || (text !== "" && text.length <= TEXT_CHARS_MAX)) return text;
  throw wrong(name, `must have 1 to ${TEXT_CHARS_MAX} characters`);
}

function deciderOf(request: FastifyRequest): string | undefined {
  const text = textParameter(request, "decided_by");
  if (text === undefined) return undefined;
  const [kind = ""] = text.split(":", 1);
  const isKnown = DECIDER_KINDS.some((known) => known === kind);
  if (isKnown && !text.endsWith(":") && text.length <= TEXT_CHARS_MAX) return text;
  throw wrong("decided_by", `must begin with one of ${DECIDER_KINDS.join(", ")}`);
}

const STATUSES: readonly TerminalStatus[] = ["approved", "denied", "expired", "cancelled"];

function statusesOf(request: FastifyRequest): readonly TerminalStatus[] | undefined {
  const text = textParameter(request, "status");
  if (text === undefined) return undefined;
  return text.split(",").map((word) => {
    const status = STATUSES.find((known) => known === word);
    if (status === undefined) throw wrong("status", `must be of ${STATUSES.join(", ")}`);
    return status;
  });
}

/** @throws Problem `invalid_request` */
function formatOf(request: FastifyRequest): ExportFormat {
  const name = textParameter(request, "format");
  if (name === "csv" || name === "jsonl") return EXPORT_FORMATS[name];
  throw wrong("format", "must be csv or jsonl");
}
