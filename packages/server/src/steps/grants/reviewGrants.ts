/** Adds the names of instances and of reviewers to grants. */

import type { StoredGrant } from "../../core/grant.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Reader } from "../../storage/store.ts";

/** A grant with related facts for reviewers. */
export interface ReviewedGrant {
  readonly grant: StoredGrant;
  /** JSON text. */
  readonly instanceName: string;
  /** Name of the reviewer who created it. */
  readonly reviewerName: string;
}

export async function reviewGrant(reader: Reader, grant: StoredGrant): Promise<ReviewedGrant> {
  const [reviewed] = await reviewGrants(reader, grant.projectId, [grant]);
  return reviewed ?? { grant, instanceName: '""', reviewerName: "" };
}

export async function reviewGrants(
  reader: Reader,
  projectId: string,
  grants: readonly StoredGrant[],
): Promise<ReviewedGrant[]> {
  const instances = new Set(grants.map(({ instanceId }) => instanceId));
  const stored = await readInstances(reader, projectId, [...instances]);
  const reviewers = new Set(grants.map(({ reviewerId }) => reviewerId));
  const makers = await readReviewers(reader, projectId, [...reviewers]);
  const makerNames = new Map(makers.map(({ id, name }) => [id, name]));
  return grants.map((grant) => ({
    grant,
    instanceName: stored.get(grant.instanceId)?.name ?? '""',
    reviewerName: makerNames.get(grant.reviewerId) ?? "",
  }));
}
