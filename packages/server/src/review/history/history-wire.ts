/**
 * What has ended, as people read it and take it away. What agents wrote is copied letter for
 * letter.
 */

import { formatTimestamp, onOneLine } from "@countersign/protocol";
import { sha256Hex } from "../../core/digest.ts";
import type { ExportEvent } from "../../operations/history/exportHistory.ts";
import type { EndedRequest, HistoryPage } from "../../operations/history/listHistory.ts";
import type { HistorySummary } from "../../operations/history/summarizeHistory.ts";
import { writeCursor } from "../shared/listing-parameters.ts";
import { csvRecord, type JsonCell } from "./csv.ts";

/** @param now the server's time, epoch ms */
export function writeHistoryPage(page: HistoryPage, now: number): string {
  const { requests, damaged, next, previous, lookedBackTo } = page;
  const items = requests.map((row) => `{${rowMembers(row, now)}}`).join(",");
  const missing = damaged.length === 0 ? "" : `,"damaged":${JSON.stringify(damaged)}`;
  return (
    `{"requests":[${items}]${missing},"next":${writeCursor(next)}` +
    `,"previous":${writeCursor(previous)},"looked_back_to":${writeTime(lookedBackTo)}` +
    `,"now":"${formatTimestamp(now)}"}`
  );
}

function rowMembers({ request, instanceName, decider }: EndedRequest, now: number): string {
  const { decision } = request;
  if (decision === null) throw new Error("history has a request that has not ended");
  const { expiresAt } = decision;
  return (
    `"id":"${request.id}","tool":${request.tool}` +
    (request.server === null ? "" : `,"server":${request.server}`) +
    `,"instance":{"id":"${request.instanceId}","name":${instanceName}}` +
    `,"status":"${decision.status}"` +
    `,"created_at":"${formatTimestamp(request.createdAt)}"` +
    `,"deadline_at":"${formatTimestamp(request.deadlineAt)}"` +
    `,"decided_at":"${formatTimestamp(decision.decidedAt)}"` +
    (expiresAt === null
      ? ""
      : `,"expires_at":"${formatTimestamp(expiresAt)}","validity_passed":${now >= expiresAt}`) +
    `,"decided_by":${JSON.stringify(decision.decidedBy)}` +
    (decider === undefined ? "" : `,"decider":${JSON.stringify(decider)}`) +
    `,"note":${decision.note ?? "null"}`
  );
}

export function writeInsights(summary: HistorySummary, now: number): string {
  const { lookedAt, isComplete, lookedBackTo, matching, byStatus, shareApproved } = summary;
  return JSON.stringify({
    looked_at: lookedAt,
    complete: isComplete,
    looked_back_to: lookedBackTo === undefined ? null : formatTimestamp(lookedBackTo),
    matching,
    by_status: byStatus,
    share_approved: shareApproved,
    by_people: toWireTimes(summary.byPeople),
    own: toWireTimes(summary.own),
    now: formatTimestamp(now),
  });
}

function toWireTimes({ decisions, medianMs, underTwoSeconds }: HistorySummary["own"]): object {
  return { decisions, median_ms: medianMs, under_2_s_after_creation: underTwoSeconds };
}

/** How an export is written. */
export interface ExportFormat {
  readonly contentType: string;
  readonly suffix: string;
  /** What stands before the first row. */
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
    suffix: "csv",
    head: csvRecord(COLUMNS),
    write: (event) => csvRecord(padded(cellsOf(event))),
  },
  jsonl: {
    contentType: "application/x-ndjson",
    suffix: "jsonl",
    head: "",
    write: (event, now) => `${lineOf(event, now)}\n`,
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

function lineOf(event: ExportEvent, now: number): string {
  if (event.kind === "damaged") return `{"event":"damaged","id":"${event.id}"}`;
  if (event.kind === "end") return `{"event":"end","rows":${event.rows}}`;
  const { request } = event.row;
  return (
    `{${rowMembers(event.row, now)},"timeout":${JSON.stringify(request.timeout)}` +
    `,"arguments":${onOneLine(request.arguments)}` +
    `,"arguments_sha256":"${sha256Hex(request.arguments)}"` +
    `,"agent_reasoning":${request.agentReasoning ?? "null"}` +
    `,"context":${onOneLine(request.context ?? "null")}}`
  );
}

/** Of a JSON string. */
function textOf(json: string | null): string {
  return json === null ? "" : (JSON.parse(json) as string);
}

function timeCell(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : formatTimestamp(ms);
}

function writeTime(ms: number | undefined): string {
  return ms === undefined ? "null" : `"${formatTimestamp(ms)}"`;
}
