import type { Context } from "../../context.ts";
import { readInForceStamp } from "../../storage/sql/in-force-stamp.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import { type InForce, type KnownInForce, readInForce } from "../../storage/sql/policy/in-force.ts";
import type { Transaction } from "../../storage/store.ts";

/** How many instances are remembered; each takes some hundred bytes. */
export const IN_FORCE_KEPT_MAX = 10_000;

/**
 * What is in force for an instance as of now. The stamp is asked of the database, behind the lock
 * of the instance, for every call; the rest only when it has changed since it was remembered.
 *
 * The stamp is read first: what is read after it may be newer and never older, and is then read
 * once more than needed.
 */
export async function findInForce(
  tx: Transaction,
  { inForce: kept }: Pick<Context, "inForce">,
  instance: InstanceKey,
): Promise<KnownInForce> {
  const stamp = await readInForceStamp(tx, instance.projectId);
  const known = kept.get(keyOf(instance));
  return known?.stamp === stamp ? known : { ...(await readInForce(tx, instance)), stamp };
}

/** What was in force when somebody last looked: a guess, and never what a call is judged by. */
export function recallInForce(
  { inForce: kept }: Pick<Context, "inForce">,
  instance: InstanceKey,
): InForce | undefined {
  return kept.get(keyOf(instance));
}

/** To be called after the commit: before it others' changes are seen that may yet be undone. */
export function rememberInForce(
  { inForce: kept }: Pick<Context, "inForce">,
  instance: InstanceKey,
  found: KnownInForce,
): void {
  if (kept.get(keyOf(instance)) !== found) kept.set(keyOf(instance), found);
}

function keyOf({ projectId, instanceId }: InstanceKey): string {
  return `${projectId} ${instanceId}`;
}
