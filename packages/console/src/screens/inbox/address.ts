/**
 * State of the inbox in its address: the filter, the current row and the selection. A selection is
 * stored as the last letters of the ids, which are their random part, so that two hundred fit into
 * an address. Pure.
 */

import type { PendingRequest } from "../../live/pending-request.ts";

const TAIL = 12;

export interface InboxAddress {
  readonly filter: string;
  /** Id of a request; empty when no row is current. */
  readonly at: string;
  /** Ends of ids. */
  readonly picked: ReadonlySet<string>;
}

export function readAddress(query: URLSearchParams): InboxAddress {
  return {
    filter: query.get("filter") ?? "",
    at: query.get("at") ?? "",
    picked: new Set((query.get("selected") ?? "").split(".").filter(Boolean)),
  };
}

/** @returns like `/inbox?filter=x` */
export function writeAddress({ filter, at, picked }: InboxAddress): string {
  const query = new URLSearchParams();
  if (filter !== "") query.set("filter", filter);
  if (at !== "") query.set("at", at);
  if (picked.size > 0) query.set("selected", [...picked].join("."));
  const text = query.toString();
  return text === "" ? "/inbox" : `/inbox?${text}`;
}

export function isPicked(picked: ReadonlySet<string>, { id }: PendingRequest): boolean {
  return picked.has(id.slice(-TAIL));
}

/** The selection with these in it, or without them when all of them were. */
export function togglePicked(
  picked: ReadonlySet<string>,
  requests: readonly PendingRequest[],
): Set<string> {
  const after = new Set(picked);
  const areAll = requests.every((request) => isPicked(picked, request));
  for (const { id } of requests) {
    if (areAll) after.delete(id.slice(-TAIL));
    else after.add(id.slice(-TAIL));
  }
  return after;
}
