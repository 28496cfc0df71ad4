/** Applies the steps of escalations when they are due. */

import type { Context } from "../../context.ts";
import { escalateRequest } from "../../steps/requests/escalateRequest.ts";
import { lockUnlessDamaged } from "../../steps/requests/lockUnlessDamaged.ts";
import { readDueEscalations, readNextEscalation } from "../../storage/sql/requests/escalations.ts";

/** Limits one round; the worker starts the next one at once while more steps are due. */
const REQUESTS_PER_CALL_MAX = 50;

/**
 * Escalates pending requests with due steps. The lock of the request ensures that one process
 * applies each step, once.
 *
 * @returns how many requests it escalated, and whether more may be due
 */
export async function escalateRequests(
  context: Context,
): Promise<{ readonly done: number; readonly more: boolean }> {
  const { store, clock } = context;
  const due = await readDueEscalations(store, clock.now(), REQUESTS_PER_CALL_MAX);
  let done = 0;
  for (const key of due) {
    const isEscalated = await store.transact(async (tx) => {
      const request = await lockUnlessDamaged(tx, key);
      return request !== undefined && escalateRequest(tx, context, request);
    });
    if (isEscalated) done++;
  }
  return { done, more: due.length === REQUESTS_PER_CALL_MAX && done > 0 };
}

/** When the next step is due, epoch ms. */
export function nextEscalation({ store, clock }: Context): Promise<number | undefined> {
  return readNextEscalation(store, clock.now());
}
