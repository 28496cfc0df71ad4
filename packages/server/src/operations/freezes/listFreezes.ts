import type { Context } from "../../context.ts";
import type { StoredFreeze } from "../../core/freeze.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  EVERY_INSTANCE,
  listActiveFreezesOf,
  listFreezesLifted,
} from "../../storage/sql/freezes/freezes.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Place } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

export interface FreezeListing {
  readonly state: "in_force" | "lifted";
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: Place | undefined;
}

/** A freeze with what a reviewer needs to know beside it. */
export interface ReviewedFreeze {
  readonly freeze: StoredFreeze;
  /** JSON text; undefined when it is not about one instance. */
  readonly instanceName: string | undefined;
}

export interface FreezePage {
  readonly freezes: readonly ReviewedFreeze[];
  /** Where it ended; undefined when nothing comes after it. */
  readonly next: Place | undefined;
}

/** Sorts behind every identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Freezes of the reviewer's project and of the server, the newest first. */
export async function listFreezes(
  { store }: Context,
  { projectId }: Pick<ReviewerCaller, "projectId">,
  { state, limit, after }: FreezeListing,
): Promise<FreezePage> {
  const list = state === "in_force" ? listActiveFreezesOf : listFreezesLifted;
  // One more than asked for tells whether there is a next page.
  const found = await list(store, projectId, after?.id ?? LAST_ID, limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    freezes: await toReviewedFreezes(store, projectId, shown),
    next: shown.length < found.length && last ? { at: last.frozenAt, id: last.id } : undefined,
  };
}

/** @param projectId of who asks; the name of an instance is that in this project */
export async function toReviewedFreeze(
  reader: Reader,
  projectId: string,
  freeze: StoredFreeze,
): Promise<ReviewedFreeze> {
  const [reviewed] = await toReviewedFreezes(reader, projectId, [freeze]);
  return reviewed ?? { freeze, instanceName: undefined };
}

/** The same freezes with the names of their instances. */
async function toReviewedFreezes(
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
