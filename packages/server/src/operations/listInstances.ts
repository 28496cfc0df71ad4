import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { StoredInstance } from "../core/instance.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readReviewers } from "../storage/sql/holders.ts";
import { listActiveInstances, readInstances } from "../storage/sql/instances.ts";
import type { Reader } from "../storage/store.ts";

/** An instance as those see it who administer the project. */
export interface ReviewedInstance {
  readonly instance: StoredInstance;
  /** Name of the reviewer; null when nobody is named. */
  readonly owner: string | null;
}

export interface InstancePage {
  readonly instances: readonly ReviewedInstance[];
  /** Id of the last one; undefined when nothing comes after it. */
  readonly next: string | undefined;
}

export interface InstanceListing {
  readonly limit: number;
  /** Id of the last instance of the page before. */
  readonly after: string | undefined;
}

/** Instances of the reviewer's project that are not deleted, the oldest first. */
export async function listInstances(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  { limit, after }: InstanceListing,
): Promise<InstancePage> {
  // One more than asked for tells whether there is a next page.
  const found = await listActiveInstances(store, projectId, after ?? "", limit + 1);
  const shown = found.slice(0, limit);
  return {
    instances: await withOwners(store, projectId, shown),
    next: shown.length < found.length ? shown.at(-1)?.id : undefined,
  };
}

/**
 * One instance of the reviewer's project.
 *
 * @throws Problem `not_found`, also for one that is deleted
 */
export async function showInstance(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedInstance> {
  const instance = (await readInstances(store, projectId, [id])).get(id);
  if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
  const [reviewed] = await withOwners(store, projectId, [instance]);
  return reviewed ?? { instance, owner: null };
}

async function withOwners(
  reader: Reader,
  projectId: string,
  instances: readonly StoredInstance[],
): Promise<ReviewedInstance[]> {
  const ids = [...new Set(instances.flatMap(({ ownerId }) => ownerId ?? []))];
  const owners = await readReviewers(reader, projectId, ids);
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  return instances.map((instance) => {
    return { instance, owner: names.get(instance.ownerId ?? "") ?? null };
  });
}
