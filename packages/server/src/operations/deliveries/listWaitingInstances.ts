import type { Context } from "../../context.ts";
import {
  readWaitingInstance,
  readWaitingInstances,
  type WaitingInstance,
  type WaitingPage,
} from "../../storage/sql/deliveries/waiting-instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";

export type { WaitingInstance } from "../../storage/sql/deliveries/waiting-instances.ts";
export type { InstanceKey } from "../../storage/sql/keys.ts";

/** In front of every instance. */
export const NO_INSTANCE: InstanceKey = { projectId: "", instanceId: "" };

/** Bounds how long the event loop is held: a page takes about a millisecond. */
const INSTANCES_PER_PAGE = 200;

/**
 * Instances of all projects that have notifications to attempt now, in the order of their keys,
 * page by page.
 *
 * Called by: the delivery worker.
 *
 * @param after `next` of the page before
 */
export async function listWaitingInstances(
  { store, clock }: Pick<Context, "store" | "clock">,
  after: InstanceKey,
): Promise<WaitingPage> {
  return readWaitingInstances(store, clock.now(), after, INSTANCES_PER_PAGE);
}

/** The same of one instance that has just got something to deliver. */
export async function findWaitingInstance(
  { store }: Pick<Context, "store">,
  instance: InstanceKey,
): Promise<WaitingInstance | undefined> {
  return readWaitingInstance(store, instance);
}
