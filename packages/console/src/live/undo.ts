/** Scheduled verdicts of the user, which they can still undo on every screen. */

import { computed, signal } from "@preact/signals";
import { api } from "../api.ts";
import { forEachOf } from "../requests/for-each.ts";
import { pending } from "./live.ts";
import { readAgain } from "./pending-list.ts";
import type { PendingRequest } from "./pending-request.ts";

/** Requests of the latest verdict in this tab. Undo applies to them first. */
export const latestVerdict = signal<readonly string[]>([]);

/** The scheduled verdicts that one Undo cancels: the latest ones, then all others. */
export const undoable = computed<readonly PendingRequest[]>(() => {
  const held = pending.value.filter((request) => request.held !== undefined);
  const latest = held.filter(({ id }) => latestVerdict.value.includes(id));
  return latest.length > 0 ? latest : held;
});

/** @throws the first failure */
export async function undo(requests: readonly PendingRequest[]): Promise<void> {
  const failures = await forEachOf(requests, async ({ id }) => {
    await api.call("DELETE /requests/{id}/held", { path: { id } });
    await readAgain(id);
  });
  if (failures.length > 0) throw failures[0]?.error;
}
