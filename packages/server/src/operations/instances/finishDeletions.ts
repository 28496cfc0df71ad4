import type { Context } from "../../context.ts";
import { finishDeletion } from "../../steps/instances/finishDeletion.ts";
import { readHalfDeletedInstances } from "../../storage/sql/requests/pending-requests.ts";

const INSTANCES_PER_CALL_MAX = 100;

/** Cancels the pending requests of deletions that a crash interrupted. */
export async function finishDeletions(context: Context): Promise<void> {
  for (const instance of await readHalfDeletedInstances(context.store, INSTANCES_PER_CALL_MAX)) {
    await finishDeletion(context, instance);
  }
}
