/**
 * The pending requests in the tab: listed page by page; each request is fetched again after a hint.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import { exactText } from "@countersign/review-api/exact";
import { batch, signal, untracked } from "@preact/signals";
import { api } from "../api.ts";
import { noteServerTime, now } from "../time.ts";
import { byDeadline, type PendingRequest, readRequest } from "./pending-request.ts";

/** By id. Requests that end later than the listed ones may be missing. */
export const requests = signal<ReadonlyMap<string, PendingRequest>>(new Map());

export interface Listing {
  /** Where the next page begins; null when all is there, undefined before the first page. */
  readonly next: string | null | undefined;
  /** Up to where the list is complete, epoch ms. */
  readonly listedTo: number;
  /** Requests whose stored rows fail verification; they cannot be decided. */
  readonly damaged: number;
}

const NOTHING: Listing = { next: undefined, listedTo: 0, damaged: 0 };
export const listing = signal<Listing>(NOTHING);

/** Ids of requests that arrived since the page was opened, the latest last. */
export const arrivals = signal<readonly string[]>([]);
const ARRIVALS_MAX = 200;

const PAGE = 200;

interface Page extends Listing {
  readonly items: readonly PendingRequest[];
}

/** The text of each request: an unchanged one stays the same object. */
const texts = new WeakMap<PendingRequest, string>();
let round = 0;

function read(wire: ReviewedRequest): PendingRequest {
  const source = exactText(wire);
  const request = readRequest(wire);
  const before = requests.value.get(request.id);
  if (before !== undefined && texts.get(before) === source) return before;
  texts.set(request, source);
  return request;
}

interface ReadOptions {
  readonly isBackground: boolean;
  readonly signal?: AbortSignal | undefined;
}

async function readPage(after: string | null | undefined, options: ReadOptions): Promise<Page> {
  const askedAt = performance.now();
  const query = { state: "pending", limit: String(PAGE), after: after ?? undefined } as const;
  const answer = await api.call("GET /requests", { query, ...options });
  noteServerTime(Date.parse(answer.now), askedAt);
  const items = answer.requests.map(read);
  const last = items.at(-1)?.deadlineAt ?? 0;
  const { next, damaged = [] } = answer;
  return { items, next, damaged: damaged.length, listedTo: next === null ? Infinity : last };
}

/**
 * Lists again, as many as were listed before.
 *
 * @returns false when a later list replaced it
 * @throws Refusal
 */
export async function listAgain(options: ReadOptions): Promise<boolean> {
  const mine = ++round;
  const before = requests.value.size;
  const listed = new Map<string, PendingRequest>();
  let damaged = 0;
  let page: Page | undefined;
  do {
    page = await readPage(page?.next, options);
    if (mine !== round) return false;
    for (const item of page.items) listed.set(item.id, item);
    damaged += page.damaged;
  } while (page.next !== null && listed.size < before);
  const isFirst = listing.value.next === undefined;
  const added = [...listed.keys()].filter((id) => !requests.value.has(id));
  batch(() => {
    requests.value = listed;
    listing.value = { next: page.next, listedTo: page.listedTo, damaged };
    if (!isFirst) noteArrivals(added);
  });
  return true;
}

let more: Promise<void> | undefined;
/** Requests that ended while the next page was on its way. */
let goneMeanwhile = new Set<string>();

/** The next page, if there is one; one at a time. */
export function listMore(): Promise<void> {
  more ??= readMore().finally(() => {
    more = undefined;
  });
  return more;
}

async function readMore(): Promise<void> {
  const { next, damaged } = listing.value;
  if (typeof next !== "string") return;
  const mine = round;
  const gone = new Set<string>();
  goneMeanwhile = gone;
  const page = await readPage(next, { isBackground: true });
  if (mine !== round) return;
  const added = page.items.filter(({ id }) => !gone.has(id));
  batch(() => {
    // A request that was fetched meanwhile is at least as new as the page.
    requests.value = new Map([...added.map((one) => [one.id, one] as const), ...requests.value]);
    listing.value = { ...page, damaged: damaged + page.damaged };
  });
}

/**
 * Replaces the shown state of a request by an answer of the server.
 */
export function takeRequest(wire: ReviewedRequest): PendingRequest {
  const request = read(wire);
  if (request.status !== "pending") dropRequest(request.id);
  else {
    const isNew = !requests.value.has(request.id);
    batch(() => {
      requests.value = new Map(requests.value).set(request.id, request);
      if (isNew && listing.value.next !== undefined) noteArrivals([request.id]);
    });
  }
  return request;
}

export function dropRequest(id: string): void {
  goneMeanwhile.add(id);
  if (!requests.value.has(id)) return;
  const rest = new Map(requests.value);
  rest.delete(id);
  requests.value = rest;
}

/** Fetches one request. @throws Refusal */
export async function readAgain(
  id: string,
  options: ReadOptions = { isBackground: true },
): Promise<PendingRequest> {
  return takeRequest(await api.call("GET /requests/{id}", { path: { id }, ...options }));
}

/** For another user or project. */
export function forgetRequests(): void {
  round++;
  batch(() => {
    requests.value = new Map();
    listing.value = NOTHING;
    arrivals.value = [];
  });
}

/** Removes requests whose deadline has passed by the server's time. */
export function dropOverdue(): void {
  const at = now.value;
  untracked(() => {
    for (const { deadlineAt, id } of requests.value.values()) if (deadlineAt <= at) dropRequest(id);
  });
}

/** Sorted, as far as the list is complete. */
export function inOrder(): PendingRequest[] {
  const { listedTo } = listing.value;
  const known = [...requests.value.values()].filter(({ deadlineAt }) => deadlineAt <= listedTo);
  return known.sort(byDeadline);
}

function noteArrivals(ids: readonly string[]): void {
  if (ids.length > 0) arrivals.value = [...arrivals.value, ...ids].slice(-ARRIVALS_MAX);
}
