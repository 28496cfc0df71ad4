/** Scans resolved requests in the order of their decisions. */

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  isOpen,
  matchesFilter,
  type RequestFilter,
  type ResolvedOutline,
} from "../../core/request-filter.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";
import {
  listResolvedAfter,
  listResolvedBefore,
} from "../../storage/sql/requests/resolved-requests.ts";
import type { Reader } from "../../storage/store.ts";

/** Sort before and after every other identifier, in any collation. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";
export const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Part of the history: the number of scanned rows, and the matches. */
export interface ScannedRange {
  readonly found: readonly ResolvedOutline[];
  readonly scanned: number;
  /** The last scanned row. */
  readonly last: Cursor | undefined;
  /** True at the end of the history. */
  readonly isEnd: boolean;
}

/** Rows of one step. Other exchanges are served between steps. */
const ROWS_PER_STEP = 500;

export interface HistoryScan {
  readonly projectId: string;
  readonly filter: RequestFilter;
  readonly direction: "older" | "newer";
  /** The scan starts after it. */
  readonly from: Cursor;
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
}

/** Start of a scan over everything that can match the filter. */
export function scanStart({ until }: Pick<RequestFilter, "until">): Cursor {
  return until === undefined
    ? { at: Number.MAX_SAFE_INTEGER, id: LAST_ID }
    : { at: until, id: FIRST_ID };
}

/**
 * Scans resolved requests by the time of their decision, and yields the matches step by step. It
 * reads no contents.
 *
 * @param wanted maximum useful rows, if known
 * @throws the reason of the signal, between two steps
 */
export async function* scanHistory(
  reader: Reader,
  { projectId, filter, direction, from, signal }: HistoryScan,
  wanted = ROWS_PER_STEP,
): AsyncGenerator<ScannedRange> {
  const { since, until } = filter;
  const rows = isOpen(filter) ? Math.min(wanted, ROWS_PER_STEP) : ROWS_PER_STEP;
  const isWithin = ({ at }: ResolvedOutline) => {
    return direction === "older" ? at >= (since ?? 0) : until === undefined || at < until;
  };
  const isWithoutApproved = filter.statuses?.includes("approved") === false;
  let cursor = startOf({ filter, direction, from });
  for (;;) {
    const list = direction === "older" ? listResolvedBefore : listResolvedAfter;
    const step = await list(reader, { projectId, isWithoutApproved }, cursor, rows);
    const within = step.filter(isWithin);
    const isEnd = step.length < rows || within.length < step.length;
    const last = within.at(-1);
    const found = within.filter((outline) => matchesFilter(filter, outline));
    yield { found, scanned: within.length, last, isEnd };
    if (isEnd || last === undefined) return;
    cursor = last;
    await nextTurn();
    signal?.throwIfAborted();
  }
}

/** A cursor can be outside the times of the filter. */
function startOf({ filter, direction, from }: Omit<HistoryScan, "projectId" | "signal">): Cursor {
  if (direction === "older") {
    const newest = scanStart(filter);
    return newest.at < from.at ? newest : from;
  }
  const oldest = { at: (filter.since ?? 0) - 1, id: LAST_ID };
  return oldest.at > from.at ? oldest : from;
}
