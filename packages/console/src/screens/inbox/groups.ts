/**
 * Groups identical calls. Pure.
 */

import type { PendingRequest } from "../../live/pending-request.ts";

export interface RequestGroup {
  /** Stable identifier, also after the first request is decided. */
  readonly key: string;
  /** The one that ends first; opening the group opens it. */
  readonly first: PendingRequest;
  /** All of them, the soonest deadline first. */
  readonly requests: readonly PendingRequest[];
}

/** Same call, same instance, and deciding takes the same of the same people. */
function keyOf(request: PendingRequest) {
  const { tool, server, instance, arguments_sha256, requirement, may_decide } = request;
  const requirements = [requirement, may_decide.approve, may_decide.deny];
  return JSON.stringify([instance.id, server, tool, arguments_sha256, requirements]);
}

/** @param requests in their order, which the groups keep */
export function groupsOf(requests: readonly PendingRequest[]): RequestGroup[] {
  const byKey = new Map<string, PendingRequest[]>();
  for (const request of requests) {
    const key = keyOf(request);
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [request]);
    else same.push(request);
  }
  return [...byKey].map(([key, same]) => ({
    key,
    first: same[0] as PendingRequest,
    requests: same,
  }));
}

/** Whether all words of a filter are in the call: tool, server, instance, rule or arguments. */
export function fits(request: PendingRequest, filter: string): boolean {
  const { tool, server = "", instance, policy, argumentsSource } = request;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const names = [tool, server, instance.name, policy.because];
  const text = [...names, argumentsSource].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}
