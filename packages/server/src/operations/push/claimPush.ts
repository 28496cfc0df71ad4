import { excerpt, formatTimestamp } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { attemptDeadline, MESSAGE_LEASE } from "../../core/lease.ts";
import { readPreferences } from "../../core/preferences.ts";
import type { PushPayload, PushTarget, StoredSubscription, VapidKey } from "../../core/push.ts";
import { quietHoursEndAt } from "../../core/quiet-hours.ts";
import type { StoredRequest } from "../../core/request.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { canDecide, isWanted, type PossibleDecider } from "../../steps/push/canDecide.ts";
import { openPushKey } from "../../steps/push/findPublicPushKey.ts";
import { openPushTarget } from "../../steps/push/openPushTarget.ts";
import { readDelayingAbsence } from "../../steps/push/readDelayingAbsence.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readPreferencesText } from "../../storage/sql/people/preferences.ts";
import {
  type DuePush,
  deletePush,
  movePush,
  readDuePushes,
  readPushReviewer,
} from "../../storage/sql/push/push-messages.ts";
import { claimSubscription, lockSubscription } from "../../storage/sql/push/push-subscriptions.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

/** A browser with a message to send. No other replica sends to it until the lease ends. */
export interface ClaimedPush {
  readonly subscription: StoredSubscription;
  readonly target: PushTarget;
  readonly key: VapidKey;
  readonly due: DuePush;
  readonly payload: PushPayload;
  readonly keepS: number;
  /** Fence of the claim. A result with an older one is ignored. */
  readonly fence: number;
  /** `Clock.monotonic` by which the sending must end, with a margin to the end of the lease. */
  readonly endsBy: number;
}

/** Bounds one transaction. */
const DUE_MAX = 20;

/** How long a browser is notified after a request was resolved. */
const RESOLVED_KEPT_MS = 3_600_000;

const NAME_CHARS_MAX = 80;

/** Until the server checks again that others get the messages of an absent reviewer. */
const ABSENCE_RECHECK_MS = 60_000;

/**
 * Claims a browser for one message. It drops an obsolete message: its request was resolved, or its
 * user may not decide it or wants no notification. Quiet hours and absences delay others.
 *
 * @returns undefined: nothing to send now, or another replica is sending
 * @throws Failure `secret-key` when the key of the target is missing; nothing is claimed
 */
export async function claimPush(
  context: Context,
  id: string,
): Promise<ClaimedPush | "again" | undefined> {
  const endsBy = attemptDeadline(context.clock, MESSAGE_LEASE);
  return context.store.transact(async (tx) => {
    const subscription = await lockSubscription(tx, id);
    const now = await tx.now();
    if (subscription === undefined || !isFree(subscription, now)) return undefined;
    const all = await readDuePushes(tx, id, now, DUE_MAX);
    for (const due of all) {
      const payload = await payloadOf(tx, subscription, due, now);
      if (payload === undefined) continue;
      const target = openPushTarget(context, subscription);
      const key = await openPushKey(tx, context);
      await claimSubscription(tx, id, now + MESSAGE_LEASE.ms);
      const until = payload.deadline_at === undefined ? now : Date.parse(payload.deadline_at);
      const keptMs = due.isShown ? RESOLVED_KEPT_MS : until - now;
      const keepS = Math.max(1, Math.ceil(keptMs / 1000));
      const fence = subscription.fence + 1;
      return { subscription, target, key, due, payload, keepS, fence, endsBy };
    }
    return all.length === DUE_MAX ? "again" : undefined;
  }, "process");
}

function isFree({ claimedUntil, retryAt }: StoredSubscription, now: number): boolean {
  return (claimedUntil ?? 0) <= now && (retryAt ?? 0) <= now;
}

/** The payload; undefined when nothing is to be sent now, which is then recorded. */
async function payloadOf(
  tx: Transaction,
  { id, personId }: StoredSubscription,
  due: DuePush,
  now: number,
): Promise<PushPayload | undefined> {
  const { projectId, requestId, isShown } = due;
  const { requests } = await readRequests(tx, projectId, [requestId]);
  const [request] = requests;
  const decision = request?.decision ?? null;
  if (isShown) {
    if (request !== undefined && decision === null) {
      await movePush(tx, id, due, null);
      return undefined;
    }
    if (request !== undefined && decision !== null && now < decision.decidedAt + RESOLVED_KEPT_MS) {
      const payload = await describe(tx, request);
      return { ...payload, type: "request.resolved", silent: true, status: decision.status };
    }
  } else if (request !== undefined && decision === null && request.deadlineAt > now) {
    const reviewer = await readPushReviewer(tx, projectId, personId);
    const instances = await readInstances(tx, projectId, [request.instanceId]);
    const ownerId = instances.get(request.instanceId)?.ownerId ?? null;
    const { quietHours, notify } = readPreferences(await readPreferencesText(tx, personId));
    const isFor = (one: PossibleDecider) =>
      canDecide(request, one, ownerId) && isWanted(request, one, notify);
    if (reviewer !== undefined && isFor(reviewer)) {
      const absence = await readDelayingAbsence(tx, request, reviewer, ownerId, now);
      const recheckAt = absence && Math.min(absence.until, now + ABSENCE_RECHECK_MS);
      const sendAt = Math.max(quietHoursEndAt(quietHours, now), recheckAt ?? now);
      if (sendAt <= now) return describe(tx, request);
      await movePush(tx, id, due, sendAt);
      return undefined;
    }
  }
  await deletePush(tx, id, due);
  return undefined;
}

/** Never includes arguments. */
async function describe(tx: Transaction, request: StoredRequest): Promise<PushPayload> {
  const { id, projectId, instanceId, deadlineAt } = request;
  const instance = (await readInstances(tx, projectId, [instanceId])).get(instanceId);
  const { tool, server } = readToolName(request);
  return {
    type: "request.waiting",
    request_id: id,
    tag: id,
    path: `/p/${projectId}/inbox/${id}`,
    tool: excerpt(tool, NAME_CHARS_MAX),
    server: server === undefined ? undefined : excerpt(server, NAME_CHARS_MAX),
    instance_name: excerpt(JSON.parse(instance?.name ?? '""') as string, NAME_CHARS_MAX),
    deadline_at: formatTimestamp(deadlineAt),
    silent: false,
  };
}
