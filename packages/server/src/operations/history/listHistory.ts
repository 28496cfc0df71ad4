import type { Context } from "../../context.ts";
import type { RequestFilter, ResolvedOutline } from "../../core/request-filter.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  countFitting,
  type ResolvedRequestPage,
  readResolvedRequests,
} from "../../steps/history/readResolvedRequests.ts";
import { FIRST_ID, LAST_ID, scanHistory, scanStart } from "../../steps/history/scanHistory.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

export interface HistoryListing {
  readonly filter: RequestFilter;
  readonly limit: number;
  /** Only requests older than this cursor. */
  readonly after: Cursor | undefined;
  /** Only requests newer than this cursor; excludes `after`. */
  readonly before: Cursor | undefined;
}

export interface HistoryPage extends ResolvedRequestPage {
  /** Cursor of older requests; undefined without any. */
  readonly next: Cursor | undefined;
  /** Cursor of newer requests; undefined without any. */
  readonly previous: Cursor | undefined;
  /** Epoch ms of the oldest scanned decision; undefined when none was scanned. */
  readonly scannedBackTo: number | undefined;
}

/** Limits the cost of one page or count, because only the decision time has an index. */
export const SCANNED_MAX = 20_000;

/** A page with very large requests ends early, because answers have bounded memory. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Resolved requests of the caller's project. With a filter, a page can be short or empty before the
 * last one.
 *
 * @param signal aborted when the client disconnects
 * @throws the reason of the signal
 */
export async function listHistory(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  { filter, limit, after, before }: HistoryListing,
  signal?: AbortSignal,
): Promise<HistoryPage> {
  const direction = before === undefined ? "older" : "newer";
  const from = before ?? after ?? scanStart(filter);
  const scan = { projectId, filter, direction, from, signal } as const;
  const found: ResolvedOutline[] = [];
  let scanned = 0;
  let [last, isEnd]: [Cursor | undefined, boolean] = [undefined, false];
  // One more than the limit shows whether there is a next page.
  for await (const stretch of scanHistory(store, scan, limit + 1)) {
    found.push(...stretch.found);
    scanned += stretch.scanned;
    last = stretch.last ?? last;
    isEnd = stretch.isEnd;
    if (found.length > limit || scanned >= SCANNED_MAX) break;
  }
  const shown = found.slice(0, Math.min(limit, countFitting(found, PAGE_BYTES_MAX)));
  const behind = shown.length < found.length ? shown.at(-1) : isEnd ? undefined : last;
  const newestFirst = direction === "older" ? shown : shown.toReversed();
  const cursors = cursorsOf(direction, { from, first: shown[0], behind, isCursor: Boolean(after) });
  const read = await readResolvedRequests(store, projectId, newestFirst);
  const scannedBackTo = direction === "older" ? (behind ?? last)?.at : newestFirst.at(-1)?.at;
  return { ...read, ...cursors, scannedBackTo };
}

interface Ends {
  readonly from: Cursor;
  /** First request of the page, in the direction of the scan. */
  readonly first: Cursor | undefined;
  /** Position where the scan continues. */
  readonly behind: Cursor | undefined;
  /** True when the scan started at a cursor. */
  readonly isCursor: boolean;
}

/** From an empty page, the way back leads to the start of the scan, inclusive. */
function cursorsOf(
  direction: "older" | "newer",
  { from, first, behind, isCursor }: Ends,
): Pick<HistoryPage, "next" | "previous"> {
  if (direction === "newer") {
    return { next: first ?? { at: from.at, id: LAST_ID }, previous: behind };
  }
  const back = isCursor ? (first ?? { at: from.at, id: FIRST_ID }) : undefined;
  return { next: behind, previous: back };
}
