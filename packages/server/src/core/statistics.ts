/** Statistics of resolved requests over time. */

import type { TerminalStatus } from "@countersign/protocol";
import { type ActorKind, kindOfActor } from "./actor.ts";
import { DECIDER_KINDS, type ResolvedOutline, SOON_MS } from "./request-filter.ts";

export type StatusCounts = Readonly<Record<TerminalStatus, number>>;

export interface StatisticsRange {
  /** Epoch ms, inclusive. */
  readonly since: number;
  /** Epoch ms, exclusive. */
  readonly until: number;
  /** Length of a bucket. The first bucket starts at `since`. */
  readonly bucketMs: number;
}

export interface Bucket {
  /** Epoch ms. */
  readonly from: number;
  readonly counts: StatusCounts;
}

/** A counted tool, server, instance, reviewer or rule. */
export interface Counted {
  readonly key: string;
  readonly counts: StatusCounts;
}

export interface Ranking {
  /** Most requests first; the same number in the order of the keys. */
  readonly top: readonly Counted[];
  /** Number of keys, including those after the top. */
  readonly keys: number;
}

export const DIMENSIONS = ["tool", "server", "instance", "reviewer", "rule"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export type DeciderKind = (typeof DECIDER_KINDS)[number];

export interface Statistics {
  readonly total: number;
  readonly counts: StatusCounts;
  readonly buckets: readonly Bucket[];
  readonly byDecider: Readonly<Record<DeciderKind, number>>;
  readonly people: {
    readonly decisions: number;
    /** From creation to decision, by the nearest rank; null without any decision. */
    readonly p50Ms: number | null;
    readonly p90Ms: number | null;
    /** Approvals by reviewers less than 2 seconds after the creation. */
    readonly tooFastApprovals: number;
  };
  /** Expired requests as a share of the requests that expired or that a reviewer decided. */
  readonly expiryRate: number | null;
  readonly rankings: Readonly<Record<Dimension, Ranking>>;
}

export const RANKED_MAX = 20;

type Tally = Record<TerminalStatus, number>;

/** Counts requests one by one. */
export class StatisticsCount {
  readonly #range: StatisticsRange;
  readonly #counts = newTally();
  readonly #buckets: Tally[];
  readonly #byDecider: Record<DeciderKind, number>;
  readonly #times: number[] = [];
  readonly #tallies: Record<Dimension, Map<string, Tally>>;
  #tooFast = 0;

  constructor(range: StatisticsRange) {
    this.#range = range;
    const { since, until, bucketMs } = range;
    const buckets = Math.max(1, Math.ceil((until - since) / bucketMs));
    this.#buckets = Array.from({ length: buckets }, newTally);
    const kinds = DECIDER_KINDS.map((kind) => [kind, 0]);
    this.#byDecider = Object.fromEntries(kinds) as Record<DeciderKind, number>;
    const maps = DIMENSIONS.map((dimension) => [dimension, new Map()]);
    this.#tallies = Object.fromEntries(maps) as Record<Dimension, Map<string, Tally>>;
  }

  /** @param outline a request that was resolved in the range */
  add(outline: ResolvedOutline): void {
    const { status, at, createdAt, decidedBy } = outline;
    this.#counts[status]++;
    const bucket = this.#buckets[Math.floor((at - this.#range.since) / this.#range.bucketMs)];
    if (bucket !== undefined) bucket[status]++;
    const kind = kindOfActor(decidedBy);
    if (isDeciderKind(kind)) this.#byDecider[kind]++;
    if (kind === "reviewer") {
      this.#times.push(at - createdAt);
      if (status === "approved" && at - createdAt < SOON_MS) this.#tooFast++;
    }
    for (const [dimension, key] of keysOf(outline, kind)) this.#tally(dimension, key)[status]++;
  }

  #tally(dimension: Dimension, key: string): Tally {
    const tallies = this.#tallies[dimension];
    const tally = tallies.get(key) ?? newTally();
    tallies.set(key, tally);
    return tally;
  }

  result(): Statistics {
    const { since, bucketMs } = this.#range;
    const times = this.#times.toSorted((a, b) => a - b);
    const decisions = times.length;
    const waited = this.#counts.expired + decisions;
    const rankings = DIMENSIONS.map((dimension) => [dimension, rank(this.#tallies[dimension])]);
    return {
      total: totalOf(this.#counts),
      counts: this.#counts,
      buckets: this.#buckets.map((counts, i) => ({ from: since + i * bucketMs, counts })),
      byDecider: this.#byDecider,
      people: {
        decisions,
        p50Ms: nearestRank(times, 0.5),
        p90Ms: nearestRank(times, 0.9),
        tooFastApprovals: this.#tooFast,
      },
      expiryRate: waited === 0 ? null : this.#counts.expired / waited,
      rankings: Object.fromEntries(rankings) as Record<Dimension, Ranking>,
    };
  }
}

export function totalOf({ approved, denied, expired, cancelled }: StatusCounts): number {
  return approved + denied + expired + cancelled;
}

/** The smallest value that is not below this share of all; null without any. */
export function nearestRank(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

function newTally(): Tally {
  return { approved: 0, denied: 0, expired: 0, cancelled: 0 };
}

function isDeciderKind(kind: ActorKind): kind is DeciderKind {
  return DECIDER_KINDS.some((known) => known === kind);
}

/** The names of tools and servers are JSON texts. */
function keysOf(
  { tool, server, instanceId, decidedBy }: ResolvedOutline,
  kind: ActorKind,
): readonly (readonly [Dimension, string])[] {
  const decider = decidedBy.slice(kind.length + 1);
  return [
    ["tool", tool],
    ["instance", instanceId],
    ...(server === null ? [] : [["server", server] as const]),
    ...(kind === "reviewer" ? [["reviewer", decider] as const] : []),
    ...(kind === "policy" ? [["rule", decider] as const] : []),
  ];
}

function rank(tallies: ReadonlyMap<string, Tally>): Ranking {
  const counted = Array.from(tallies, ([key, counts]) => ({ key, counts }));
  const top = counted.sort(
    (a, b) => totalOf(b.counts) - totalOf(a.counts) || (a.key < b.key ? -1 : 1),
  );
  return { top: top.slice(0, RANKED_MAX), keys: counted.length };
}
