/**
 * What is pending, in the tab: listed page by page, then kept by what the stream tells. What is
 * told while a list is on its way is newer than the list.
 *
 * Called by: live.ts, and screens that read `requests` or hand in the answer to a verdict.
 */

import { batch, signal, untracked } from "@preact/signals";
import { callSource } from "../api.ts";
import { itemSources, memberSource } from "../exact/source.ts";
import { noteServerTime, now } from "../time.ts";
import { byDeadline, type PendingRequest, readRequest } from "./pending-request.ts";

/** By id. What is not there has ended, or ends later than what has been listed. */
export const requests = signal<ReadonlyMap<string, PendingRequest>>(new Map());

export interface Listing {
  /** Where the next page begins; null when all is there, undefined before the first page. */
  readonly next: string | null | undefined;
  /** Up to where the list is complete, epoch ms. */
  readonly listedTo: number;
  /** Requests that nobody can read or decide any more. */
  readonly damaged: number;
}

const NOTHING: Listing = { next: undefined, listedTo: 0, damaged: 0 };
export const listing = signal<Listing>(NOTHING);

/** Ids of what has come since the page was opened, the newest last. */
export const arrivals = signal<readonly string[]>([]);
const ARRIVALS_MAX = 200;

const PAGE = 200;

interface Page extends Listing {
  readonly items: readonly PendingRequest[];
}

/** What was told while a list is on its way; null has ended. */
let told: Map<string, PendingRequest | null> | undefined;
/** The text that each was read from: what has not changed stays the same object. */
const texts = new WeakMap<PendingRequest, string>();
let round = 0;

function read(source: string): PendingRequest {
  const request = readRequest(source);
  const before = requests.value.get(request.id);
  if (before !== undefined && texts.get(before) === source) return before;
  texts.set(request, source);
  return request;
}

async function readPage(after: string | null | undefined, isBackground: boolean): Promise<Page> {
  const from = typeof after === "string" ? `&after=${encodeURIComponent(after)}` : "";
  const askedAt = performance.now();
  const source = await callSource("GET", `requests?state=pending&limit=${PAGE}${from}`, {
    isBackground,
  });
  const answer = JSON.parse(source) as {
    readonly next: string | null;
    readonly now: string;
    readonly damaged?: readonly string[];
  };
  noteServerTime(Date.parse(answer.now), askedAt);
  const items = itemSources(memberSource(source, "requests") ?? "[]").map(read);
  const last = items.at(-1)?.deadlineAt ?? 0;
  const { next, damaged = [] } = answer;
  return { items, next, damaged: damaged.length, listedTo: next === null ? Infinity : last };
}

/**
 * Lists anew, as many as had been listed before.
 *
 * @returns false when another list began meanwhile
 * @throws Refusal
 */
export async function listAnew(isBackground: boolean): Promise<boolean> {
  const mine = ++round;
  const overlay = new Map<string, PendingRequest | null>();
  told = overlay;
  const before = requests.value.size;
  const listed = new Map<string, PendingRequest>();
  let damaged = 0;
  let page: Page | undefined;
  do {
    page = await readPage(page?.next, isBackground);
    if (mine !== round) return false;
    for (const item of page.items) listed.set(item.id, item);
    damaged += page.damaged;
  } while (page.next !== null && listed.size < before);
  told = undefined;
  for (const [id, request] of overlay) {
    if (request === null) listed.delete(id);
    else listed.set(id, request);
  }
  const isFirst = listing.value.next === undefined;
  const news = [...listed.keys()].filter((id) => !requests.value.has(id));
  batch(() => {
    requests.value = listed;
    listing.value = { next: page.next, listedTo: page.listedTo, damaged };
    if (!isFirst) note(news);
  });
  return true;
}

let more: Promise<void> | undefined;

/** The next page, if there is one; once at a time. */
export function listMore(): Promise<void> {
  more ??= readMore().finally(() => {
    more = undefined;
  });
  return more;
}

async function readMore(): Promise<void> {
  const { next, damaged } = listing.value;
  if (typeof next !== "string" || told !== undefined) return;
  const mine = ++round;
  const overlay = new Map<string, PendingRequest | null>();
  told = overlay;
  try {
    const page = await readPage(next, true);
    if (mine !== round) return;
    const all = new Map(requests.value);
    for (const item of page.items) all.set(item.id, item);
    for (const id of overlay.keys()) if (overlay.get(id) === null) all.delete(id);
    for (const [id, request] of overlay) if (request !== null) all.set(id, request);
    batch(() => {
      requests.value = all;
      listing.value = { ...page, damaged: damaged + page.damaged };
    });
  } finally {
    if (mine === round) told = undefined;
  }
}

/**
 * Puts the state of a request in place of what is shown: from the stream, or the answer to what
 * was sent.
 *
 * @param source as the server wrote it
 */
export function takeRequest(source: string): PendingRequest {
  const request = read(source);
  if (request.status !== "pending") dropRequest(request.id);
  else {
    told?.set(request.id, request);
    const isNew = !requests.value.has(request.id);
    batch(() => {
      requests.value = new Map(requests.value).set(request.id, request);
      if (isNew && listing.value.next !== undefined) note([request.id]);
    });
  }
  return request;
}

export function dropRequest(id: string): void {
  told?.set(id, null);
  if (!requests.value.has(id)) return;
  const rest = new Map(requests.value);
  rest.delete(id);
  requests.value = rest;
}

/** What shows a request that is too long for the stream, or might have been missed. */
export async function readAgain(id: string): Promise<PendingRequest> {
  return takeRequest(await callSource("GET", `requests/${id}`, { isBackground: true }));
}

/** Forgets everything: another person, or another project. */
export function forgetRequests(): void {
  round++;
  told = undefined;
  batch(() => {
    requests.value = new Map();
    listing.value = NOTHING;
    arrivals.value = [];
  });
}

/** What is over by the server's time leaves by itself. */
export function dropOverdue(): void {
  const at = now.value;
  untracked(() => {
    for (const { deadlineAt, id } of requests.value.values()) if (deadlineAt <= at) dropRequest(id);
  });
}

/** In their order, as far as the list is complete. */
export function inOrder(): PendingRequest[] {
  const { listedTo } = listing.value;
  const known = [...requests.value.values()].filter(({ deadlineAt }) => deadlineAt <= listedTo);
  return known.sort(byDeadline);
}

function note(ids: readonly string[]): void {
  if (ids.length > 0) arrivals.value = [...arrivals.value, ...ids].slice(-ARRIVALS_MAX);
}
