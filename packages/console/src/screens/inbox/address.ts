/**
 * State of the inbox in its address: the open request, the filter, the current row and the
 * selection. A selection is stored as the last letters of the ids, which are their random part, so
 * that two hundred fit into an address. Pure.
 */

import type { PendingRequest } from "../../live/pending-request.ts";
import { addressOf } from "../../requests/address-of.ts";

const TAIL = 12;

export interface InboxAddress {
  /** Id of the open request; empty: none. */
  readonly open: string;
  readonly filter: string;
  /** Id of a request, or the part that an address shows; empty when no row is current. */
  readonly at: string;
  /** Ends of ids. */
  readonly picked: ReadonlySet<string>;
}

/** @param open id of the open request */
export function readAddress(open: string, query: URLSearchParams): InboxAddress {
  return {
    open,
    filter: query.get("filter") ?? "",
    at: open || (query.get("at") ?? ""),
    picked: new Set((query.get("selected") ?? "").split(".").filter(Boolean)),
  };
}

/**
 * @param nameOf the part of an id that the address shows
 * @returns like `/inbox?filter=x` or `/inbox/ID`
 */
export function writeAddress(
  { open, filter, at, picked }: InboxAddress,
  nameOf = (id: string): string => id,
): string {
  const query = new URLSearchParams();
  if (filter !== "") query.set("filter", filter);
  if (open === "" && at !== "") query.set("at", nameOf(at));
  if (picked.size > 0) query.set("selected", [...picked].join("."));
  const path = open === "" ? "/inbox" : `/inbox/${nameOf(open)}`;
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

function tailOf(request: PendingRequest): string {
  return addressOf(request).slice(-TAIL);
}

export function isPicked(picked: ReadonlySet<string>, request: PendingRequest): boolean {
  return picked.has(tailOf(request));
}

/** The selection with these in it, or without them when all of them were. */
export function togglePicked(
  picked: ReadonlySet<string>,
  requests: readonly PendingRequest[],
): Set<string> {
  const areAll = requests.every((request) => isPicked(picked, request));
  if (!areAll) return addPicked(picked, requests);
  const after = new Set(picked);
  for (const request of requests) after.delete(tailOf(request));
  return after;
}

export function addPicked(
  picked: ReadonlySet<string>,
  requests: readonly PendingRequest[],
): Set<string> {
  return new Set([...picked, ...requests.map(tailOf)]);
}
