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

/** Limits one transaction. Those of a page run concurrently. */
const REQUESTS_PER_COMMIT_MAX = 50;

const INSTANCES_PER_COMMIT_MAX = 1_000;

/** Start of the scan over the requests that a freeze covers. */
export const SCAN_START: Cursor = { at: -1, id: "" };

export interface DenialProgress {
  readonly count: number;
  /** Start of the next page; undefined at the end of the scan. */
  readonly next: Cursor | undefined;
}

/**
 * Denies one page of the pending requests that a freeze covers. Requests past their deadline
 * expire. After the freeze is lifted, it denies nothing.
 *
 * At the end of a scan, no covered request is pending, and none can become so.
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
 * Waits for concurrent creations of requests that may not have read the committed freeze. Each
 * holds its instance from before it reads freezes until its commit.
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
    // A separate transaction, which holds these locks only for the wait.
    await store.transact((tx) => lockInstances(tx, projectId, first, last));
    if (ids.length < INSTANCES_PER_COMMIT_MAX) return;
    after = last;
  }
}
