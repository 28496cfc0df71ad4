/** Returns the instances of a project with their owners, proposals and activity. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredInstance } from "../../core/instance.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { destinationOf } from "../../steps/deliveries/reviewDeliveries.ts";
import { readProjects, readReviewers } from "../../storage/sql/access/holders.ts";
import {
  countPendingOfInstances,
  readLastRequestAt,
  readReceiversOf,
  readWaitingDeliveries,
  type WaitingDelivery,
} from "../../storage/sql/instances/instance-activity.ts";
import {
  type ProposedAssignment,
  readProposedAssignments,
} from "../../storage/sql/instances/instance-proposals.ts";
import { listActiveInstances, readInstances } from "../../storage/sql/instances/instances.ts";
import {
  readWorkloadBindings,
  type WorkloadBinding,
} from "../../storage/sql/instances/workload-instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Reader, Store } from "../../storage/store.ts";

/** An instance with facts for administrators of the project. */
export interface ReviewedInstance {
  readonly instance: StoredInstance;
  /** Name of the reviewer; null without an owner. */
  readonly owner: string | null;
  /** A proposed change of groups and owner; null without one. */
  readonly proposal: ReviewedAssignment | null;
  /** Null for an instance that workload identity did not create. */
  readonly workload: WorkloadBinding | null;
  readonly activity: InstanceActivity;
}

export interface ReviewedAssignment {
  readonly groups: readonly string[];
  /** Names of reviewers; null for no owner. */
  readonly owner: string | null;
  readonly proposer: string | null;
  /** Epoch ms. */
  readonly proposedAt: number;
}

export interface InstanceActivity {
  /** Pending requests, counted among the first 10,000 of the project. */
  readonly pending: number;
  /** Epoch ms; undefined when no request is stored. Reads and polls are not recorded. */
  readonly lastRequestAt: number | undefined;
  readonly receiver: ReceiverHealth | null;
}

export interface ReceiverHealth {
  /** Origin only, because path and query may contain secrets. */
  readonly origin: string | null;
  /** Epoch ms. */
  readonly verifiedAt: number;
  /** Deliveries that have not ended; counted up to 1,000. */
  readonly waiting: number;
  /** The delivery with the most attempts; undefined without any attempt. */
  readonly worst: WaitingDelivery | undefined;
}

export interface InstancePage {
  readonly instances: readonly ReviewedInstance[];
  /** Id of the last one; undefined on the last page. */
  readonly next: string | undefined;
}

export interface InstanceListing {
  readonly limit: number;
  /** Id of the last instance of the previous page. */
  readonly after?: string | undefined;
}

/** Instances of the reviewer's project that are not deleted, the oldest first. */
export function listInstances(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  listing: InstanceListing,
): Promise<InstancePage> {
  return readPage(store, projectId, listing);
}

/**
 * The same for operators on the server, who need no account.
 *
 * @param project its name
 * @throws Problem `not_found`
 */
export async function listInstancesAsOperator(
  { store }: Pick<Context, "store">,
  project: string,
  listing: InstanceListing,
): Promise<InstancePage> {
  const [found] = await readProjects(store, project);
  if (found === undefined) throw new Problem("not_found", "No project has this name.");
  return readPage(store, found.id, listing);
}

async function readPage(
  store: Store,
  projectId: string,
  { limit, after }: InstanceListing,
): Promise<InstancePage> {
  // One more than the limit shows whether there is a next page.
  const found = await listActiveInstances(store, projectId, after ?? "", limit + 1);
  const shown = found.slice(0, limit);
  return {
    instances: await withActivity(store, projectId, shown),
    next: shown.length < found.length ? shown.at(-1)?.id : undefined,
  };
}

/**
 * One instance of the reviewer's project.
 *
 * @throws Problem `not_found`, also for a deleted one
 */
export async function showInstance(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedInstance> {
  const instance = (await readInstances(store, projectId, [id])).get(id);
  if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
  return one(await withActivity(store, projectId, [instance]));
}

function one([reviewed]: readonly ReviewedInstance[]): ReviewedInstance {
  if (reviewed === undefined) throw new Error("the reviewed instance is missing");
  return reviewed;
}

async function withActivity(
  reader: Reader,
  projectId: string,
  instances: readonly StoredInstance[],
): Promise<ReviewedInstance[]> {
  const ids = instances.map(({ id }) => id);
  const proposals = await readProposedAssignments(reader, projectId, ids);
  const nameOf = await readNames(reader, projectId, [...instances, ...proposals.values()]);
  const [pending, receivers, workloads] = await Promise.all([
    countPendingOfInstances(reader, projectId),
    readReceiversOf(reader, projectId, ids),
    readWorkloadBindings(reader, projectId, ids),
  ]);
  const reviewed: ReviewedInstance[] = [];
  for (const instance of instances) {
    const key = { projectId, instanceId: instance.id };
    const receiver = receivers.get(instance.id);
    const proposal = proposals.get(instance.id);
    reviewed.push({
      instance,
      owner: nameOf(instance.ownerId),
      proposal: proposal === undefined ? null : reviewedAssignment(proposal, nameOf),
      workload: workloads.get(instance.id) ?? null,
      activity: {
        pending: pending.get(instance.id) ?? 0,
        lastRequestAt: await readLastRequestAt(reader, key),
        receiver: receiver === undefined ? null : await healthOf(reader, key, receiver),
      },
    });
  }
  return reviewed;
}

type NameOf = (reviewerId: string | null) => string | null;

/** Names of the owners and proposers of these. */
async function readNames(
  reader: Reader,
  projectId: string,
  assignments: readonly (StoredInstance | ProposedAssignment)[],
): Promise<NameOf> {
  const ids = assignments.flatMap((each) =>
    "proposedBy" in each ? [each.ownerId, proposerId(each)] : [each.ownerId],
  );
  const wanted = [...new Set(ids.filter((id) => id !== null))];
  const reviewers = await readReviewers(reader, projectId, wanted);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return (id) => names.get(id ?? "") ?? null;
}

function proposerId({ proposedBy }: ProposedAssignment): string {
  return proposedBy.slice("reviewer:".length);
}

function reviewedAssignment(proposal: ProposedAssignment, nameOf: NameOf): ReviewedAssignment {
  return {
    groups: proposal.groups,
    owner: nameOf(proposal.ownerId),
    proposer: nameOf(proposerId(proposal)),
    proposedAt: proposal.proposedAt,
  };
}

const WAITING_MAX = 1_000;

async function healthOf(
  reader: Reader,
  key: InstanceKey,
  { url, verifiedAt }: { readonly url: string; readonly verifiedAt: number },
): Promise<ReceiverHealth> {
  const waiting = await readWaitingDeliveries(reader, key, WAITING_MAX);
  const tried = waiting.filter(({ attempts }) => attempts > 0);
  const [worst] = tried.toSorted((a, b) => b.attempts - a.attempts);
  return { origin: destinationOf(url), verifiedAt, waiting: waiting.length, worst };
}
