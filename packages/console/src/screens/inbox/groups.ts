/**
 * Groups identical calls, and calls that differ in one short value. Pure.
 */

import { type Leaf, leavesOf } from "../../exact/leaves.ts";
import type { PendingRequest } from "../../live/pending-request.ts";

export interface RequestGroup {
  /** Stable identifier, also after the first request is decided. */
  readonly key: string;
  /** The one that ends first; opening the group opens it. */
  readonly first: PendingRequest;
  /** All of them, the soonest deadline first. */
  readonly requests: readonly PendingRequest[];
  /** The only argument in which the calls differ; undefined for identical calls. */
  readonly differing?: string;
}

/** Same instance and tool, and deciding takes the same of the same people. */
function kindOf({ tool, server, instance, requirement, may_decide }: PendingRequest): string {
  const requirements = [requirement, may_decide.approve, may_decide.deny];
  return JSON.stringify([instance.id, server, tool, requirements]);
}

/** @param requests in their order, which the groups keep */
export function groupsOf(requests: readonly PendingRequest[]): RequestGroup[] {
  const near = nearKeys(requests);
  const byKey = new Map<string, PendingRequest[]>();
  for (const request of requests) {
    const key = near.get(request)?.key ?? `${kindOf(request)} ${request.arguments_sha256}`;
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [request]);
    else same.push(request);
  }
  return [...byKey].map(([key, same]) => {
    const first = same[0] as PendingRequest;
    const differing = near.get(first)?.path;
    const group = { key, first, requests: same };
    return differing === undefined ? group : { ...group, differing };
  });
}

/** A group of fewer different calls saves no reading. */
const NEAR_MIN = 3;
/** The values that all calls of a group have in common, at least. */
const COMMON_MIN = 2;
const LEAVES_MAX = 12;
const SOURCE_CHARS_MAX = 4_000;
/** A value without spaces, such as an address or an id: a command or a text needs its own row. */
const SHORT_VALUE = /^"[^\s"]{0,120}"$|^[-\d.eE+]+$/;

interface NearKey {
  readonly key: string;
  readonly path: string;
}

interface Candidate extends NearKey {
  readonly members: PendingRequest[];
  /** Digests of the arguments. */
  readonly different: Set<string>;
}

/** The group of each call that differs from others in one short value; the largest groups first. */
function nearKeys(requests: readonly PendingRequest[]): ReadonlyMap<PendingRequest, NearKey> {
  const candidates = new Map<string, Candidate>();
  for (const request of requests) {
    for (const { key, path } of nearKeysOf(request)) {
      const candidate = candidates.get(key) ?? { key, path, members: [], different: new Set() };
      candidate.members.push(request);
      candidate.different.add(request.arguments_sha256);
      candidates.set(key, candidate);
    }
  }
  const large = [...candidates.values()].filter(({ different }) => different.size >= NEAR_MIN);
  const chosen = new Map<PendingRequest, NearKey>();
  for (const candidate of large.sort((a, b) => b.different.size - a.different.size)) {
    const free = candidate.members.filter((request) => !chosen.has(request));
    const different = new Set(free.map((request) => request.arguments_sha256));
    if (different.size < NEAR_MIN) continue;
    for (const request of free) chosen.set(request, candidate);
  }
  return chosen;
}

/** Computed once for each request. */
const known = new WeakMap<PendingRequest, readonly NearKey[]>();

function nearKeysOf(request: PendingRequest): readonly NearKey[] {
  const before = known.get(request);
  if (before !== undefined) return before;
  const keys = makeNearKeys(request);
  known.set(request, keys);
  return keys;
}

function makeNearKeys(request: PendingRequest): NearKey[] {
  if (request.argumentsSource.length > SOURCE_CHARS_MAX) return [];
  const leaves = leavesOf(request.argumentsSource);
  if (leaves.length <= COMMON_MIN || leaves.length > LEAVES_MAX) return [];
  const kind = kindOf(request);
  return leaves
    .filter(({ source }) => SHORT_VALUE.test(source))
    .map(({ path }) => ({ path, key: `${kind} ${path} ${JSON.stringify(without(leaves, path))}` }));
}

function without(leaves: readonly Leaf[], path: string): (readonly [string, string])[] {
  const rest = leaves.filter((leaf) => leaf.path !== path);
  return rest.map(({ path: other, source }) => [other, source] as const).sort();
}

/** The value of a call at a path, as exact text; empty without one. */
export function valueAt({ argumentsSource }: PendingRequest, path: string): string {
  return leavesOf(argumentsSource).find((leaf) => leaf.path === path)?.source ?? "";
}

/**
 * Whether all words of a filter are in the call: tool, server, instance, rule, arguments, the
 * agent's explanation or a reviewer.
 */
export function fits(request: PendingRequest, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { tool, server = "", instance, policy, argumentsSource, agent_reasoning = "" } = request;
  const reviewers = [...request.votes.map(({ reviewer }) => reviewer), request.claim?.reviewer];
  const parts = [tool, server, instance.name, policy.because, argumentsSource, agent_reasoning];
  const text = [...parts, ...reviewers].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}
