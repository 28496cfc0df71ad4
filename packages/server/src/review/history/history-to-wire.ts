/** Converts resolved requests to the reviewer API's form. */

import { formatTimestamp } from "@countersign/protocol";
import {
  type AnswerOf,
  type DecisionTimes,
  type HistoryInsights,
  type history,
  JsonText,
  type EndedRequest as WireRow,
  type Writable,
  writeCursor,
} from "@countersign/review-api";
import { textOf } from "../../http/wire.ts";
import type { ResolvedRequest } from "../../operations/history/exportHistory.ts";
import type { HistoryPage } from "../../operations/history/listHistory.ts";
import type { HistorySummary } from "../../operations/history/summarizeHistory.ts";
import type { CallFacts } from "../requests/call-facts.ts";

/**
 * @param now the server's time, in milliseconds since 1970
 * @param facts of the requests of the page
 */
export function toWirePage(
  { requests, damaged, next, previous, scannedBackTo }: HistoryPage,
  now: number,
  facts: readonly CallFacts[],
): Writable<AnswerOf<typeof history.listHistory>> {
  return {
    requests: requests.map((row, i) => ({ ...toWireRow(row, now), line: facts[i]?.line })),
    damaged: damaged.length === 0 ? undefined : damaged,
    next: writeCursor(next),
    previous: writeCursor(previous),
    looked_back_to: scannedBackTo === undefined ? null : formatTimestamp(scannedBackTo),
    now: formatTimestamp(now),
  };
}

/** @param now the server's time, in milliseconds since 1970 */
export function toWireRow(
  { request, instanceName, decider }: ResolvedRequest,
  now: number,
): Writable<WireRow> {
  const { decision } = request;
  if (decision === null) throw new Error("history has a request that has not ended");
  const { expiresAt, note } = decision;
  return {
    id: request.id,
    tool: new JsonText(request.tool),
    server: textOf(request.server),
    instance: { id: request.instanceId, name: new JsonText(instanceName) },
    status: decision.status,
    created_at: formatTimestamp(request.createdAt),
    deadline_at: formatTimestamp(request.deadlineAt),
    decided_at: formatTimestamp(decision.decidedAt),
    expires_at: expiresAt === null ? undefined : formatTimestamp(expiresAt),
    validity_passed: expiresAt === null ? undefined : now >= expiresAt,
    decided_by: decision.decidedBy,
    decider,
    note: note === null ? null : new JsonText(note),
  };
}

/** @param now the server's time, in milliseconds since 1970 */
export function toWireInsights(summary: HistorySummary, now: number): HistoryInsights {
  const { scannedBackTo } = summary;
  return {
    looked_at: summary.scannedCount,
    complete: summary.isComplete,
    looked_back_to: scannedBackTo === undefined ? null : formatTimestamp(scannedBackTo),
    matching: summary.matching,
    by_status: summary.byStatus,
    share_approved: summary.shareApproved,
    by_people: toWireTimes(summary.byPeople),
    own: toWireTimes(summary.own),
    now: formatTimestamp(now),
  };
}

function toWireTimes({
  decisions,
  medianMs,
  underTwoSeconds,
}: HistorySummary["own"]): DecisionTimes {
  return { decisions, median_ms: medianMs, under_2_s_after_creation: underTwoSeconds };
}
