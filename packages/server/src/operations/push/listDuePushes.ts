import type { Context } from "../../context.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import {
  readPushedProjects,
  wakeShownPush,
  wakeShownPushes,
} from "../../storage/sql/push/push-messages.ts";
import { readDueSubscriptions } from "../../storage/sql/push/push-subscriptions.ts";

/** Of one look; what is left over is seen by the next, when some have been served. */
const SUBSCRIPTIONS_MAX = 500;

/** Browsers that something is to be sent to now. */
export async function listDuePushes({
  store,
  clock,
}: Pick<Context, "store" | "clock">): Promise<string[]> {
  return readDueSubscriptions(store, clock.now(), SUBSCRIPTIONS_MAX);
}

/** Projects in which somebody has a browser that is told. */
export async function listPushedProjects({ store }: Pick<Context, "store">): Promise<string[]> {
  return readPushedProjects(store);
}

/**
 * Makes it due that browsers are told of the end of what they show: of one request, or of all in a
 * project that nobody was woken for.
 *
 * @returns how many messages became due
 */
export async function endShownPushes(
  { store }: Pick<Context, "store">,
  { projectId, id }: Pick<RowKey, "projectId"> & { readonly id?: string },
): Promise<number> {
  return store.transact(async (tx) => {
    const now = await tx.now();
    if (id === undefined) return wakeShownPushes(tx, projectId, now);
    return wakeShownPush(tx, { projectId, id }, now);
  }, "process");
}
