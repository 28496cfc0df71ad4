/** Search and order of the list. Without either, the list loads page by page. */

import type { Instance } from "@countersign/review-api";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";

const PAGE_SIZE = "100";

/** More are not searched. */
export const SEARCHED_MAX = 1_000;

export const ORDERS = [
  { value: "newest", text: t`Newest first` },
  { value: "name", text: t`By name` },
  { value: "pending", text: t`Most pending first` },
  { value: "called", text: t`Latest request first` },
] as const;

type Compare = (a: Instance, b: Instance) => number;

const COMPARE: Readonly<Record<string, Compare>> = {
  newest: (a, b) => b.id.localeCompare(a.id),
  name: (a, b) => a.name.localeCompare(b.name),
  pending: (a, b) => b.pending - a.pending,
  called: (a, b) => (b.last_request_at ?? "").localeCompare(a.last_request_at ?? ""),
};

export interface InstanceFilter {
  /** In the name, a group or the owner. */
  readonly search: string;
  /** A value of ORDERS; empty: oldest first. */
  readonly order: string;
}

export interface FoundInstances {
  readonly items: readonly Instance[];
  readonly next: string | null;
}

export async function findInstances(
  { search, order }: InstanceFilter,
  after: string | undefined,
  signal: AbortSignal,
): Promise<FoundInstances> {
  if (search === "" && order === "") return page(after, signal);
  const all: Instance[] = [];
  let next: string | undefined;
  do {
    const read: FoundInstances = await page(next, signal);
    all.push(...read.items);
    next = read.next ?? undefined;
  } while (next !== undefined && all.length < SEARCHED_MAX);
  const wanted = search.toLowerCase();
  const found = all.filter((instance) => wordsOf(instance).includes(wanted));
  const compare = COMPARE[order];
  return { items: compare === undefined ? found : found.toSorted(compare), next: null };
}

async function page(after: string | undefined, signal: AbortSignal): Promise<FoundInstances> {
  const query = { limit: PAGE_SIZE, after };
  const { instances, next } = await api.call("GET /instances", { query, signal });
  return { items: instances, next };
}

function wordsOf({ name, groups, owner }: Instance): string {
  return [name, ...groups, owner ?? ""].join("\n").toLowerCase();
}
