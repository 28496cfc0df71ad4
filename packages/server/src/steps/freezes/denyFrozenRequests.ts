/** Denies the pending requests that a freeze covers. */

import type { Context } from "../../context.ts";
import { freezeDecision, type StoredFreeze } from "../../core/freeze.ts";
import { readProjectIds } from "../../storage/sql/access/holders.ts";
import { EVERY_INSTANCE, isFreezeActive } from "../../storage/sql/freezes/freezes.ts";
import {
  type FrozenRequest,
  lockInstances,
  readFrozenRequests,
  readInstanceIds,
} from "../../storage/sql/freezes/frozen-requests.ts";
import { compareLockOrder } from "../../storage/sql/requests/pending-requests.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";
import { lockUnlessDamaged } from "../requests/lockUnlessDamaged.ts";
import { resolveRequest } from "../requests/resolveRequest.ts";

/** Bounds one page of the scan. */
const REQUESTS_PER_PAGE = 200;

/** Bounds one transaction; those of a page run beside each other. */
const REQUESTS_PER_COMMIT_MAX = 50;

const INSTANCES_PER_COMMIT_MAX = 1_000;

/** Where the scan over what a freeze covers begins. */
export const SCAN_START: Cursor = { at: -1, id: "" };

export interface DenialProgress {
  readonly count: number;
  /** Where to go on; undefined when the scan is over. */
  readonly next: Cursor | undefined;
}

/**
 * Denies one page of the pending requests that a freeze covers; those whose deadline has passed
 * unnoticed end as expired. Once the freeze is lifted it denies nothing more.
 *
 * At the end of a scan nothing is pending that was not denied, and nothing can become so.
 */
export async function denyFrozenRequests(
  context: Context,
  freeze: StoredFreeze,
  after: Cursor,
): Promise<DenialProgress> {
  const covered = await readFrozenRequests(context.store, freeze, after, REQUESTS_PER_PAGE);
  const last = covered.at(-1);
  const sorted = covered.toSorted(compareLockOrder);
  const commits: Promise<number>[] = [];
  for (let from = 0; from < sorted.length; from += REQUESTS_PER_COMMIT_MAX) {
    commits.push(denyAll(context, freeze, sorted.slice(from, from + REQUESTS_PER_COMMIT_MAX)));
  }
  const counts = await Promise.all(commits);
  const isLast = last === undefined || covered.length < REQUESTS_PER_PAGE;
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    next: isLast ? undefined : { at: last.deadlineAt, id: last.id },
  };
}

function denyAll(
  context: Context,
  freeze: StoredFreeze,
  requests: readonly FrozenRequest[],
): Promise<number> {
  return context.store.transact(async (tx) => {
    let count = 0;
    if (!(await isFreezeActive(tx, freeze))) return count;
    for (const key of requests) {
      const request = await lockUnlessDamaged(tx, key);
      if (request === undefined) continue;
      const resolution = await resolveRequest(tx, context, request, freezeDecision(freeze));
      if (resolution.kind === "resolved") count++;
    }
    return count;
  });
}

/**
 * Waits for those who are just creating a request and may not have seen the freeze, which is
 * committed: each holds its instance until its commit, from before it asked for a freeze.
 */
export async function awaitConcurrentCreates(
  context: Context,
  freeze: StoredFreeze,
): Promise<void> {
  const { projectId, instanceId } = freeze;
  if (instanceId !== EVERY_INSTANCE) {
    await context.store.transact((tx) => lockInstances(tx, projectId, instanceId, instanceId));
    return;
  }
  const projects = projectId === "" ? await readProjectIds(context.store) : [projectId];
  for (const project of projects) await awaitConcurrentCreatesOf(context, project);
}

async function awaitConcurrentCreatesOf({ store }: Context, projectId: string): Promise<void> {
  let after = "";
  for (;;) {
    const ids = await readInstanceIds(store, projectId, after, INSTANCES_PER_COMMIT_MAX);
    const [first] = ids;
    const last = ids.at(-1);
    if (first === undefined || last === undefined) return;
    // In its own transaction, which holds its locks for this only.
    await store.transact((tx) => lockInstances(tx, projectId, first, last));
    if (ids.length < INSTANCES_PER_COMMIT_MAX) return;
    after = last;
  }
}
