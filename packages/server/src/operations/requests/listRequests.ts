import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedRequest, reviewRequests } from "../../steps/requests/reviewRequests.ts";
import {
  type Cursor,
  listDecided,
  listPending,
  type Outline,
  readRequests,
} from "../../storage/sql/requests/requests.ts";

export interface Listing {
  readonly state: "pending" | "decided";
  readonly limit: number;
  /** End of the previous page. */
  readonly after?: Cursor | undefined;
}

export interface Page {
  readonly requests: readonly ReviewedRequest[];
  /** Ids of damaged requests of the page, which cannot be read or decided. */
  readonly damaged: readonly string[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined;
}

/**
 * Requests of the reviewer's project: pending ones by deadline, decided ones latest first. A page
 * with very large requests ends early, because answers have bounded memory.
 */
export async function listRequests(
  context: Context,
  caller: ReviewerCaller,
  { state, limit, after }: Listing,
): Promise<Page> {
  const { store, clock } = context;
  // One more than the limit shows whether there is a next page.
  const outlines =
    state === "pending"
      ? await listPending(store, caller.projectId, undecided(clock.now(), after), limit + 1)
      : await listDecided(store, caller.projectId, after ?? NEWEST, limit + 1);
  const shown = outlines.slice(0, Math.min(limit, fitting(outlines)));
  const { requests, damaged } = await readRequests(
    store,
    caller.projectId,
    shown.map(({ id }) => id),
  );
  return {
    requests: await reviewRequests(store, caller, requests, clock.now()),
    damaged,
    next: shown.length < outlines.length ? shown.at(-1) : undefined,
  };
}

/** Sorts after every other identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const NEWEST: Cursor = { at: Number.MAX_SAFE_INTEGER, id: LAST_ID };

/**
 * Start of a page of pending requests. Requests past their deadline are left out: they cannot be
 * decided, and the worker expires them soon.
 */
function undecided(now: number, after: Cursor | undefined): Cursor {
  return after === undefined || after.at <= now ? { at: now, id: LAST_ID } : after;
}

const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** How many fit on a page, at least one. */
function fitting(outlines: readonly Outline[]): number {
  let bytes = 0;
  const tooMany = outlines.findIndex((outline) => {
    bytes += outline.bytes;
    return bytes > PAGE_BYTES_MAX;
  });
  return tooMany === -1 ? outlines.length : Math.max(1, tooMany);
}
