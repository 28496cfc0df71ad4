/** Reads and caches what is active for an instance: policies, freezes and grants. */

import type { Context } from "../../context.ts";
import { readActiveStateStamp } from "../../storage/sql/active-state-stamp.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import {
  type ActiveState,
  type CachedActiveState,
  readActiveState,
} from "../../storage/sql/policy/active-state.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * The active state for an instance. Every call reads the stamp from the database while it holds the
 * lock of the instance. The rest is read only when the stamp differs from the cached one.
 *
 * The stamp is read first, so the rest can only be newer. It is then read once more than necessary.
 */
export async function findActiveState(
  reader: Reader,
  { activeStates }: Pick<Context, "activeStates">,
  instance: InstanceKey,
): Promise<CachedActiveState> {
  const stamp = await readActiveStateStamp(reader, instance.projectId);
  const known = activeStates.get(keyOf(instance));
  return known?.stamp === stamp ? known : { ...(await readActiveState(reader, instance)), stamp };
}

/** The latest cached state. It may be outdated, so no call is judged by it. */
export function cachedActiveState(
  { activeStates }: Pick<Context, "activeStates">,
  instance: InstanceKey,
): ActiveState | undefined {
  return activeStates.get(keyOf(instance));
}

/** Call it after the commit: before it, the transaction can read changes that are rolled back. */
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
