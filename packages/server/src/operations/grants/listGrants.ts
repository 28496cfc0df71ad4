import type { Context } from "../../context.ts";
import type { StoredGrant } from "../../core/grant.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { listActiveOfInstance, listGrantsBefore } from "../../storage/sql/grants/grants.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Place } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

export interface GrantListing {
  readonly state: "active" | "ended";
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: Place | undefined;
  /** Only those of this one; with `active` alone. */
  readonly instanceId: string | undefined;
}

/** A grant with what a reviewer needs to know beside it. */
export interface ReviewedGrant {
  readonly grant: StoredGrant;
  /** JSON text. */
  readonly instanceName: string;
  /** Of its maker. */
  readonly reviewerName: string;
}

export interface GrantPage {
  readonly grants: readonly ReviewedGrant[];
  /** Where it ended; undefined when nothing comes after it. */
  readonly next: Place | undefined;
}

/** Sorts behind every identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Grants of the reviewer's project, the newest first. */
export async function listGrants(
  { store, clock }: Context,
  { projectId }: ReviewerCaller,
  { state, limit, after, instanceId }: GrantListing,
): Promise<GrantPage> {
  // One more than asked for tells whether there is a next page.
  const before = after?.id ?? LAST_ID;
  const now = clock.now();
  const found =
    instanceId === undefined
      ? await listGrantsBefore(store, projectId, state, now, before, limit + 1)
      : await listActiveOfInstance(store, { projectId, instanceId }, now, before, limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    grants: await toReviewedGrants(store, projectId, shown),
    next: shown.length < found.length && last ? { at: last.createdAt, id: last.id } : undefined,
  };
}

export async function toReviewedGrant(reader: Reader, grant: StoredGrant): Promise<ReviewedGrant> {
  const [reviewed] = await toReviewedGrants(reader, grant.projectId, [grant]);
  return reviewed ?? { grant, instanceName: '""', reviewerName: "" };
}

async function toReviewedGrants(
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
