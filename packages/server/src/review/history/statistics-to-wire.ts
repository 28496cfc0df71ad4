/** Converts statistics and sessions to the reviewer API's form. */

import { formatTimestamp } from "@countersign/protocol";
import {
  type AgentSession,
  JsonText,
  type SessionCall,
  type StatisticsAnswer,
  type Writable,
} from "@countersign/review-api";
import type { Counted, Dimension, StatisticsRange } from "../../core/statistics.ts";
import { totalOf } from "../../core/statistics.ts";
import { textOf } from "../../http/wire.ts";
import type { SessionListing, SessionRow } from "../../operations/history/showAgentSession.ts";
import type { ShownStatistics } from "../../operations/history/showStatistics.ts";

/** @param now the server's time, in milliseconds since 1970 */
export function toWireStatistics(
  statistics: ShownStatistics,
  { since, until }: StatisticsRange,
  now: number,
): Writable<StatisticsAnswer> {
  const { scannedBackTo, people, rankings, instanceNames, reviewerNames } = statistics;
  const ranked = <Key>(dimension: Dimension, key: (counted: Counted) => Key) => {
    const { top, keys } = rankings[dimension];
    return {
      top: top.map((one) => ({ ...key(one), ...one.counts, total: totalOf(one.counts) })),
      count: keys,
    };
  };
  return {
    since: formatTimestamp(since),
    until: formatTimestamp(until),
    looked_at: statistics.scannedCount,
    complete: statistics.isComplete,
    looked_back_to: scannedBackTo === undefined ? null : formatTimestamp(scannedBackTo),
    total: statistics.total,
    by_status: statistics.counts,
    buckets: statistics.buckets.map(({ from, counts }) => ({
      from: formatTimestamp(from),
      ...counts,
    })),
    by_decider: statistics.byDecider,
    people: {
      decisions: people.decisions,
      p50_ms: people.p50Ms,
      p90_ms: people.p90Ms,
      approvals_under_2_s: people.tooFastApprovals,
    },
    expiry_rate: statistics.expiryRate,
    by_tool: ranked("tool", ({ key }) => ({ tool: new JsonText(key) })),
    by_server: ranked("server", ({ key }) => ({ server: new JsonText(key) })),
    by_instance: ranked("instance", ({ key }) => ({
      instance: { id: key, name: new JsonText(instanceNames.get(key) ?? '""') },
    })),
    by_reviewer: ranked("reviewer", ({ key }) => ({
      reviewer: { id: key, name: reviewerNames.get(key) },
    })),
    by_rule: ranked("rule", ({ key }) => ({ rule: key })),
    now: formatTimestamp(now),
  };
}

export function toWireSession(
  { instance, session, rows, isCompleteBefore, isCompleteAfter }: SessionListing,
  now: string,
): Writable<AgentSession> {
  return {
    instance: { id: instance.id, name: new JsonText(instance.name) },
    session,
    calls: rows.map(toWireCall),
    complete_before: isCompleteBefore,
    complete_after: isCompleteAfter,
    now,
  };
}

function toWireCall({ request, decider, consumption }: SessionRow): Writable<SessionCall> {
  const { decision } = request;
  const outcome = consumption?.outcome;
  return {
    id: request.id,
    tool: new JsonText(request.tool),
    server: textOf(request.server),
    status: request.status,
    created_at: formatTimestamp(request.createdAt),
    decided_at: decision === null ? undefined : formatTimestamp(decision.decidedAt),
    decided_by: decision?.decidedBy,
    decider,
    consumed_at: consumption === undefined ? undefined : formatTimestamp(consumption.consumedAt),
    outcome: outcome
      ? { status: outcome.status, reported_at: formatTimestamp(outcome.reportedAt) }
      : undefined,
  };
}
