import type { Context } from "../../context.ts";
import { PUSH_CHANNEL } from "../../core/push.ts";
import { canDecide } from "../../steps/push/canDecide.ts";
import {
  endAnnouncements,
  readDueAnnouncements,
} from "../../storage/sql/channels/announcements.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { insertPushMessage, readPushAudience } from "../../storage/sql/push/push-messages.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";

/** Bounds one transaction. */
const REQUESTS_MAX = 50;

export interface PushFanOut {
  /** Browsers with due messages. */
  readonly subscriptionIds: readonly string[];
  /** True when more announcements may be due. */
  readonly isMore: boolean;
}

/**
 * Creates push messages about the announced requests of a project, one for each browser of a
 * reviewer who can decide them.
 */
export async function fanOutPushes(
  { store }: Pick<Context, "store">,
  projectId: string,
): Promise<PushFanOut> {
  return store.transact(async (tx) => {
    const now = await tx.now();
    const channel = { projectId, id: PUSH_CHANNEL };
    const due = await readDueAnnouncements(tx, channel, now, REQUESTS_MAX);
    const waiting = due.filter(({ isPending, deadlineAt }) => isPending && deadlineAt > now);
    const ids = waiting.map(({ requestId }) => requestId);
    const { requests } = await readRequests(tx, projectId, ids);
    const instances = await readInstances(tx, projectId, [
      ...new Set(requests.map(({ instanceId }) => instanceId)),
    ]);
    const audience = requests.length === 0 ? [] : await readPushAudience(tx, projectId);
    const recipients = new Set<string>();
    for (const request of requests) {
      const ownerId = instances.get(request.instanceId)?.ownerId ?? null;
      for (const one of audience.filter((each) => canDecide(request, each, ownerId))) {
        await insertPushMessage(tx, { projectId, id: request.id }, one.subscriptionId, now);
        recipients.add(one.subscriptionId);
      }
    }
    const allIds = due.map(({ id }) => id);
    await endAnnouncements(tx, projectId, allIds, "sent", now);
    return { subscriptionIds: [...recipients], isMore: due.length === REQUESTS_MAX };
  }, "process");
}
