import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredEntry } from "../../core/audit-line.ts";
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
  findDenied,
  findLastApproved,
  readBound,
  type SimilarCallsQuery,
} from "../../storage/sql/history/similar-calls.ts";
import { readConsumption } from "../../storage/sql/requests/consumptions.ts";
import { readRequest, readRequests } from "../../storage/sql/requests/requests.ts";

/** Maximum age of similar calls. */
const SIMILAR_MS = 30 * 24 * 3_600_000;

/** Maximum calls, latest first: PostgreSQL fetches each of them from the table. */
const CALLS_MAX = 1_000;

/** Maximum denied calls with compared arguments. */
const DENIED_MAX = 200;

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
  readonly deniedBefore: DeniedCall | undefined;
  readonly timeline: readonly TimelineEntry[];
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
  const [counts, lastApproved, deniedBefore, timeline] = await Promise.all([
    countByStatus(store, similar),
    readLastApproved(store, similar),
    findDenied(store, similar, request.arguments, DENIED_MAX),
    readTimeline(store, caller, request),
  ]);
  return {
    lastApproved,
    similar: { since: similar.after, counts, isComplete: bound === undefined },
    deniedBefore,
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
  // By time; entries with the same time keep this order.
  return withNames(
    store,
    projectId,
    timeline.sort((a, b) => a.at - b.at),
  );
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

async function withNames(
  store: Context["store"],
  projectId: string,
  timeline: readonly TimelineEntry[],
): Promise<readonly TimelineEntry[]> {
  const ids = timeline.flatMap(({ by }) => /^reviewer:(.+)$/.exec(by)?.[1] ?? []);
  const reviewers = await readReviewers(store, projectId, [...new Set(ids)]);
  const names = new Map(reviewers.map(({ id, name }) => [`reviewer:${id}`, name]));
  return timeline.map((entry) => ({ ...entry, name: names.get(entry.by) }));
}
