/** Finds the request that an address names, also where it shows only a part of the id. */

import type { FoundRequest } from "@countersign/review-api";
import { type Addressed, addressOf, isHidden } from "../requests/address-of.ts";
import { requests } from "./pending-list.ts";

/** Ids that this page has seen, by their address: a decided request is no longer listed. */
const known = new Map<string, string>();

export function rememberAddress(request: Addressed): string {
  const address = addressOf(request);
  if (isHidden(address)) known.set(address, request.id);
  return address;
}

export function addressOfId(id: string): string {
  const request = requests.peek().get(id);
  return request === undefined ? id : rememberAddress(request);
}

/**
 * The id that an address names.
 *
 * @returns undefined while no request that the page knows has this address
 */
export function idOfAddress(address: string): string | undefined {
  if (!isHidden(address)) return address;
  const before = known.get(address);
  if (before !== undefined) return before;
  for (const request of requests.value.values()) {
    if (rememberAddress(request) === address) return request.id;
  }
  return undefined;
}

/** Where a found request opens: a pending one in the inbox. */
export function pathOfFound({ id, status, confirm }: FoundRequest): string {
  if (status !== "pending") return `/history/${id}`;
  return `/inbox/${rememberAddress({ id, status, requirement: { confirm: { kind: confirm } } })}`;
}
