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
  /** Where the page before ended. */
  readonly after?: Cursor | undefined;
}

export interface Page {
  readonly requests: readonly ReviewedRequest[];
  /** Ids of damaged requests of the page, which cannot be read or decided. */
  readonly damaged: readonly string[];
  /** Where it ended; undefined when nothing comes after it. */
  readonly next: Cursor | undefined;
}

/**
 * Requests of the reviewer's project: pending ones by their deadline, decided ones newest first.
 * A page ends early when its requests are very large: an answer has bounded memory too.
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

/** Sorts behind every other identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const NEWEST: Cursor = { at: Number.MAX_SAFE_INTEGER, id: LAST_ID };

/**
 * Where a page of pending requests begins. Those whose window has passed are left out: the
 * expiry worker is about to expire them, and they cannot be decided.
 */
function undecided(now: number, after: Cursor | undefined): Cursor {
  return after === undefined || after.at <= now ? { at: now, id: LAST_ID } : after;
}

const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/** How many fit on a page; always at least one. */
function fitting(outlines: readonly Outline[]): number {
  let bytes = 0;
  const tooMany = outlines.findIndex((outline) => {
    bytes += outline.bytes;
    return bytes > PAGE_BYTES_MAX;
  });
  return tooMany === -1 ? outlines.length : Math.max(1, tooMany);
}
