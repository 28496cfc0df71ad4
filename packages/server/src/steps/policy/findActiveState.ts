/** Reads and caches what is active for an instance: policies, freezes and grants. */

import type { Context } from "../../context.ts";
import { readActiveStateStamp } from "../../storage/sql/active-state-stamp.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import {
  type ActiveState,
  type CachedActiveState,
  readActiveState,
} from "../../storage/sql/policy/active-state.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * What is active for an instance as of now. The stamp is asked of the database, behind the lock
 * of the instance, for every call; the rest only when it has changed since it was cached.
 *
 * The stamp is read first: what is read after it may be newer and never older, and is then read
 * once more than needed.
 */
export async function findActiveState(
  tx: Transaction,
  { activeStates }: Pick<Context, "activeStates">,
  instance: InstanceKey,
): Promise<CachedActiveState> {
  const stamp = await readActiveStateStamp(tx, instance.projectId);
  const known = activeStates.get(keyOf(instance));
  return known?.stamp === stamp ? known : { ...(await readActiveState(tx, instance)), stamp };
}

/** The latest cached state: possibly outdated, so no call is judged by it. */
export function cachedActiveState(
  { activeStates }: Pick<Context, "activeStates">,
  instance: InstanceKey,
): ActiveState | undefined {
  return activeStates.get(keyOf(instance));
}

/** To be called after the commit: before it others' changes are seen that may yet be undone. */
export function cacheActiveState(
  { activeStates }: Pick<Context, "activeStates">,
  instance: InstanceKey,
  found: CachedActiveState,
): void {
  if (activeStates.get(keyOf(instance)) !== found) activeStates.set(keyOf(instance), found);
}

function keyOf({ projectId, instanceId }: InstanceKey): string {
  return `${projectId} ${instanceId}`;
}
