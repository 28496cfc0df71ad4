import type { Context } from "../context.ts";
import {
  readWaitingInstance,
  readWaitingInstances,
  type WaitingInstance,
  type WaitingPage,
} from "../storage/sql/waiting-instances.ts";

export type { WaitingInstance } from "../storage/sql/waiting-instances.ts";

/** Bounds how long the event loop is held: a page takes about a millisecond. */
const INSTANCES_PER_PAGE = 200;

/**
 * Instances that have notifications to attempt now, in the order of their ids, page by page.
 *
 * Called by: the delivery worker.
 *
 * @param after `next` of the page before; empty to begin
 */
export async function listWaitingInstances(
  { store, clock }: Pick<Context, "store" | "clock">,
  after: string,
): Promise<WaitingPage> {
  return readWaitingInstances(store, clock.now(), after, INSTANCES_PER_PAGE);
}

/** The same of one instance that has just got something to deliver. */
export async function findWaitingInstance(
  { store }: Pick<Context, "store">,
  instanceId: string,
): Promise<WaitingInstance | undefined> {
  return readWaitingInstance(store, instanceId);
}
