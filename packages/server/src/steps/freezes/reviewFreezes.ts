/** Adds the names of instances to freezes. */

import type { StoredFreeze } from "../../core/freeze.ts";
import { EVERY_INSTANCE } from "../../storage/sql/freezes/freezes.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Reader } from "../../storage/store.ts";

/** A freeze with related facts for reviewers. */
export interface ReviewedFreeze {
  readonly freeze: StoredFreeze;
  /** JSON text; undefined unless it is about one instance. */
  readonly instanceName: string | undefined;
}

/** @param projectId of the caller, in which the instance is looked up */
export async function reviewFreeze(
  reader: Reader,
  projectId: string,
  freeze: StoredFreeze,
): Promise<ReviewedFreeze> {
  const [reviewed] = await reviewFreezes(reader, projectId, [freeze]);
  return reviewed ?? { freeze, instanceName: undefined };
}

/** The same freezes with the names of their instances. */
export async function reviewFreezes(
  reader: Reader,
  projectId: string,
  freezes: readonly StoredFreeze[],
): Promise<ReviewedFreeze[]> {
  const ids = freezes.flatMap(({ instanceId }) =>
    instanceId === EVERY_INSTANCE ? [] : [instanceId],
  );
  const instances = await readInstances(reader, projectId, [...new Set(ids)]);
  return freezes.map((freeze) => ({
    freeze,
    instanceName:
      freeze.instanceId === EVERY_INSTANCE
        ? undefined
        : (instances.get(freeze.instanceId)?.name ?? '""'),
  }));
}
