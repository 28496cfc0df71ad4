/** The formats of an export. Texts of agents stay verbatim. */

import { formatTimestamp, onOneLine } from "@countersign/protocol";
import { type ExportLine, JsonText, type Writable, writeJson } from "@countersign/review-api";
import { sha256Hex } from "../../core/digest.ts";
import type { ExportEvent } from "../../operations/history/exportHistory.ts";
import { csvRecord, type JsonCell } from "./csv.ts";
import { toWireRow } from "./history-to-wire.ts";

/** How an export is written. */
export interface ExportFormat {
  readonly contentType: string;
  /** Text before the first row. */
  readonly head: string;
  /** @param now the server's time, epoch ms */
  write(event: ExportEvent, now: number): string;
}

const COLUMNS = [
  "id",
  "tool",
  "instance_id",
  "instance_name",
  "status",
  "created_at",
  "deadline_at",
  "decided_at",
  "expires_at",
  "decided_by",
  "decider",
  "note",
  "arguments",
  "arguments_sha256",
  "agent_reasoning",
  "context",
  "server",
];

export const EXPORT_FORMATS: Readonly<Record<"csv" | "jsonl", ExportFormat>> = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: csvRecord(COLUMNS),
    write: (event) => csvRecord(padded(cellsOf(event))),
  },
  jsonl: {
    contentType: "application/x-ndjson",
    head: "",
    write: (event, now) => `${writeJson(toLine(event, now))}\n`,
  },
};

function cellsOf(event: ExportEvent): readonly (string | JsonCell)[] {
  if (event.kind === "damaged") return ["damaged", event.id];
  if (event.kind === "end") return ["end", String(event.rows)];
  const { request, instanceName, decider = "" } = event.row;
  const { decision } = request;
  return [
    request.id,
    textOf(request.tool),
    request.instanceId,
    textOf(instanceName),
    request.status,
    formatTimestamp(request.createdAt),
    formatTimestamp(request.deadlineAt),
    timeCell(decision?.decidedAt),
    timeCell(decision?.expiresAt),
    decision?.decidedBy ?? "",
    decider,
    textOf(decision?.note ?? null),
    { json: request.arguments },
    sha256Hex(request.arguments),
    textOf(request.agentReasoning),
    { json: request.context ?? "" },
    textOf(request.server),
  ];
}

function padded(cells: readonly (string | JsonCell)[]): readonly (string | JsonCell)[] {
  return COLUMNS.map((_, i) => cells[i] ?? "");
}

function toLine(event: ExportEvent, now: number): Writable<ExportLine> {
  if (event.kind === "damaged") return { event: "damaged", id: event.id };
  if (event.kind === "end") return { event: "end", rows: event.rows };
  const { request } = event.row;
  const { agentReasoning, context } = request;
  return {
    ...toWireRow(event.row, now),
    timeout: request.timeout,
    arguments: new JsonText(onOneLine(request.arguments)),
    arguments_sha256: sha256Hex(request.arguments),
    agent_reasoning: agentReasoning === null ? null : new JsonText(agentReasoning),
    context: context === null ? null : new JsonText(onOneLine(context)),
  };
}

/** Of a JSON string. */
function textOf(json: string | null): string {
  return json === null ? "" : (JSON.parse(json) as string);
}

function timeCell(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : formatTimestamp(ms);
}
