import { Problem } from "@countersign/protocol";
import { historySignals, readArguments, type Signal } from "@countersign/review-api/calls";
import type { Context } from "../../context.ts";
import type { StoredEntry } from "../../core/audit-line.ts";
import { callOfRequest } from "../../core/call-of-request.ts";
import type { StoredConsumption } from "../../core/consumption.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readJudgement, scheduleEscalations } from "../../policy/judgement.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readEntriesOfRequest } from "../../storage/sql/audit/audit-entries.ts";
import { readNotificationOfProject } from "../../storage/sql/deliveries/notification-listings.ts";
import {
  countByStatus,
  type DeniedCall,
  findApprovedArguments,
  findDenied,
  findLastApproved,
  readBound,
  type SimilarCallsQuery,
} from "../../storage/sql/history/similar-calls.ts";
import { readConsumption } from "../../storage/sql/requests/consumptions.ts";
import { readRequest, readRequests } from "../../storage/sql/requests/requests.ts";

const DAY_MS = 24 * 3_600_000;

/** Maximum age of similar calls. */
const SIMILAR_MS = 30 * DAY_MS;

/** Maximum calls, latest first: PostgreSQL fetches each of them from the table. */
const CALLS_MAX = 1_000;

/** Maximum denied calls with compared arguments. */
const DENIED_MAX = 200;

/** Approved calls with compared amounts and hosts. */
const APPROVED_MAX = { calls: 100, bytes: 16_384 };

const TIMELINE_MAX = 200;

export interface Background {
  /** Undefined when none was approved, or it is damaged. */
  readonly lastApproved: StoredRequest | undefined;
  readonly similar: {
    /** Epoch ms. */
    readonly since: number;
    readonly counts: Awaited<ReturnType<typeof countByStatus>>;
    /** False when more calls exist than were counted. */
    readonly isComplete: boolean;
  };
  readonly deniedBefore: DeniedBefore | undefined;
  /** Of earlier calls. */
  readonly signals: readonly Signal[];
  readonly timeline: readonly TimelineEntry[];
}

export interface DeniedBefore extends DeniedCall {
  /** Name of the reviewer, if it was one. */
  readonly decider?: string | undefined;
}

export interface TimelineEntry {
  /** Epoch ms. */
  readonly at: number;
  readonly kind: string;
  /** `kind:id` */
  readonly by: string;
  /** Name of the reviewer, if it was one. */
  readonly name?: string | undefined;
  readonly status?: string;
  readonly reason?: string;
  /** Reported by the agent; unverified. */
  readonly note?: string;
}

/**
 * Facts for the decision of a request: the results of similar calls, and its timeline.
 *
 * @throws Problem `not_found`
 */
export async function showBackground(
  { store, clock, settings }: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<Background> {
  const request = await readRequest(store, { projectId: caller.projectId, id });
  if (request === undefined) throw new Problem("not_found");
  // Older calls may be partly purged.
  const since = Math.max(request.createdAt - SIMILAR_MS, clock.now() - settings.retentionMs);
  const all = { request, after: since, before: request.createdAt };
  const bound = await readBound(store, all, CALLS_MAX);
  const similar = { ...all, after: bound ?? since };
  const [counts, lastApproved, deniedBefore, approved, timeline] = await Promise.all([
    countByStatus(store, similar),
    readLastApproved(store, similar),
    findDenied(store, similar, request.arguments, DENIED_MAX),
    findApprovedArguments(store, similar, APPROVED_MAX),
    readTimeline(store, caller, request),
  ]);
  const earlier = {
    approved: approved.flatMap((source) => readArguments(source) ?? []),
    count: [...counts.values()].reduce((sum, count) => sum + count, 0),
    isComplete: bound === undefined,
    wasDenied: deniedBefore !== undefined,
    days: Math.floor((request.createdAt - since) / DAY_MS),
  };
  return {
    lastApproved,
    similar: { since: similar.after, counts, isComplete: bound === undefined },
    deniedBefore: deniedBefore && (await withDecider(store, caller.projectId, deniedBefore)),
    signals: historySignals(callOfRequest(request), earlier),
    timeline,
  };
}

async function readLastApproved(
  store: Context["store"],
  similar: SimilarCallsQuery,
): Promise<StoredRequest | undefined> {
  const id = await findLastApproved(store, similar);
  if (id === undefined) return undefined;
  const { requests } = await readRequests(store, similar.request.projectId, [id]);
  return requests[0];
}

/** Delayed verdicts are visible to their owners only. */
const OWN_KINDS = ["verdict.held", "verdict.taken_back"];

async function readTimeline(
  store: Context["store"],
  caller: ReviewerCaller,
  request: StoredRequest,
): Promise<readonly TimelineEntry[]> {
  const { projectId } = caller;
  const [entries, notification, consumption] = await Promise.all([
    readEntriesOfRequest(store, projectId, request.id, TIMELINE_MAX),
    readNotificationOfProject(store, { projectId, id: request.id }),
    readConsumption(store, request),
  ]);
  const own = `reviewer:${caller.reviewerId}`;
  const between = entries
    .filter(({ kind, actor }) => !OWN_KINDS.includes(kind) || actor === own)
    .map(toTimelineEntry);
  const { decision, createdAt, instanceId } = request;
  const timeline: TimelineEntry[] = [
    { at: createdAt, kind: "request.opened", by: `instance:${instanceId}` },
    ...escalationsOf(request),
    ...between,
  ];
  if (decision !== null) {
    const { decidedAt: at, decidedBy: by, status } = decision;
    timeline.push({ at, kind: "request.resolved", by, status });
  }
  timeline.push(...useOf(request, consumption));
  if (notification?.ended) {
    const { at, by: reason } = notification.ended;
    const event = { at, by: "system:delivery" };
    if (reason === "acknowledged") timeline.push({ ...event, kind: "delivery.acknowledged" });
    else timeline.push({ ...event, kind: "delivery.ended", reason });
  }
  return withNames(store, projectId, timeline.sort(compareEntries));
}

/**
 * Kinds in the order in which one transaction writes them: a cause comes before its effect. The ids
 * of audit entries of one millisecond have no order.
 */
const CAUSAL_ORDER = [
  "request.opened",
  "request.escalated",
  "confirmation.missed",
  "verdict.held",
  "verdict.taken_back",
  "verdict.cast",
  "vote.cast",
  "vote.withdrawn",
  "request.resolved",
  "verdict.lapsed",
  "approval.consumed",
  "outcome.reported",
  "delivery.hurried",
  "delivery.acknowledged",
  "delivery.ended",
];

/** By time, and by cause within a millisecond. */
function compareEntries(a: TimelineEntry, b: TimelineEntry): number {
  return a.at - b.at || CAUSAL_ORDER.indexOf(a.kind) - CAUSAL_ORDER.indexOf(b.kind);
}

/** The applied steps of the escalation. */
function escalationsOf(request: StoredRequest): readonly TimelineEntry[] {
  const steps = scheduleEscalations(readJudgement(request.policy), request);
  return steps.flatMap(({ to, doneAt: at }): readonly TimelineEntry[] => {
    if (at === undefined) return [];
    return [{ at, kind: "request.escalated", by: "system:escalation", reason: to }];
  });
}

/** When the approval was used, and the reported outcome. */
function useOf(
  { instanceId }: StoredRequest,
  consumption: StoredConsumption | undefined,
): readonly TimelineEntry[] {
  if (consumption === undefined) return [];
  const by = `instance:${instanceId}`;
  const { consumedAt, outcome } = consumption;
  const used = { at: consumedAt, kind: "approval.consumed", by };
  if (outcome === null) return [used];
  const { reportedAt: at, status, note } = outcome;
  const said = note === null ? {} : { note: JSON.parse(note) as string };
  return [used, { at, kind: "outcome.reported", by, status, ...said }];
}

function toTimelineEntry({ at, kind, actor: by, detail }: StoredEntry): TimelineEntry {
  const { reason } = JSON.parse(detail) as { readonly reason?: unknown };
  return { at, kind, by, ...(typeof reason === "string" && { reason }) };
}

async function withDecider(
  store: Context["store"],
  projectId: string,
  denied: DeniedCall,
): Promise<DeniedBefore> {
  const names = await namesOf(store, projectId, [denied.decidedBy]);
  return { ...denied, decider: names.get(denied.decidedBy) };
}

/** Names of reviewers by `reviewer:ID`. */
async function namesOf(
  store: Context["store"],
  projectId: string,
  actors: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = actors.flatMap((by) => /^reviewer:(.+)$/.exec(by)?.[1] ?? []);
  const reviewers = await readReviewers(store, projectId, [...new Set(ids)]);
  return new Map(reviewers.map(({ id, name }) => [`reviewer:${id}`, name]));
}

async function withNames(
  store: Context["store"],
  projectId: string,
  timeline: readonly TimelineEntry[],
): Promise<readonly TimelineEntry[]> {
  const actors = timeline.map(({ by }) => by);
  const names = await namesOf(store, projectId, actors);
  return timeline.map((entry) => ({ ...entry, name: names.get(entry.by) }));
}
