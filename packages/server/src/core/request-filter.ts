/** Filters of resolved requests, and statistics over them. */

import type { TerminalStatus } from "@countersign/protocol";
import { type ActorKind, kindOfActor } from "./actor.ts";
import type { StoredDecision } from "./request.ts";

/** Undefined fields do not restrict. */
export interface RequestFilter {
  /** The complete name. */
  readonly tool: string | undefined;
  readonly toolPrefix: string | undefined;
  /** The complete name. */
  readonly server: string | undefined;
  readonly instanceId: string | undefined;
  /** An actor as `kind:id`, or only the kind. */
  readonly decidedBy: string | undefined;
  readonly statuses: readonly TerminalStatus[] | undefined;
  /** Epoch ms: decided at or after it. */
  readonly since: number | undefined;
  /** Epoch ms: decided before it. */
  readonly until: number | undefined;
}

/** A resolved request without its contents. Times are epoch milliseconds. */
export interface ResolvedOutline {
  readonly id: string;
  readonly instanceId: string;
  /** JSON text. */
  readonly tool: string;
  /** JSON text; null when the call names no server. */
  readonly server: string | null;
  readonly createdAt: number;
  readonly status: TerminalStatus;
  readonly decidedBy: StoredDecision["decidedBy"];
  /** Time of the decision. */
  readonly at: number;
  /** Length of its contents. */
  readonly bytes: number;
}

/** Kinds of actors that resolve requests. */
export const DECIDER_KINDS = [
  "reviewer",
  "policy",
  "grant",
  "freeze",
  "instance",
  "system",
] satisfies readonly ActorKind[];

/** Ignores the times. The reader of the rows applies them, because it reads in time order. */
export function matchesFilter(filter: RequestFilter, outline: ResolvedOutline): boolean {
  const { tool, toolPrefix, server, instanceId, decidedBy, statuses } = filter;
  if (instanceId !== undefined && outline.instanceId !== instanceId) return false;
  if (statuses !== undefined && !statuses.includes(outline.status)) return false;
  if (decidedBy !== undefined && !isDecidedBy(outline, decidedBy)) return false;
  if (server !== undefined && !isOf(outline, server)) return false;
  if (tool === undefined && toolPrefix === undefined) return true;
  const name = nameIn(outline.tool);
  return name === (tool ?? name) && name.startsWith(toolPrefix ?? "");
}

function isOf({ server }: ResolvedOutline, wanted: string): boolean {
  return server !== null && nameIn(server) === wanted;
}

function isDecidedBy({ decidedBy }: ResolvedOutline, wanted: string): boolean {
  return decidedBy === wanted || kindOfActor(decidedBy) === wanted;
}

/** True when the filter accepts every request, apart from the times. */
export function isOpen(filter: RequestFilter): boolean {
  const { tool, toolPrefix, server, instanceId, decidedBy, statuses } = filter;
  return (tool ?? toolPrefix ?? server ?? instanceId ?? decidedBy ?? statuses) === undefined;
}

function nameIn(json: string): string {
  return json.includes("\\") ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** Decisions by reviewers. */
export interface DecisionTimes {
  readonly decisions: number;
  /** From creation to decision; null without any. */
  readonly medianMs: number | null;
  readonly underTwoSeconds: number;
}

export interface Insights {
  readonly matching: number;
  readonly byStatus: Readonly<Record<TerminalStatus, number>>;
  /** Approvals as a share of approvals and denials; null without any. */
  readonly shareApproved: number | null;
  readonly byPeople: DecisionTimes;
  readonly own: DecisionTimes;
}

/** A decision of a reviewer in less time is too fast to have read the call. */
export const SOON_MS = 2_000;

/** Counts requests one by one. Stores one number for each request that a reviewer decided. */
export class InsightCount {
  readonly #own: string;
  readonly #byStatus = { approved: 0, denied: 0, expired: 0, cancelled: 0 };
  readonly #times: number[] = [];
  readonly #ownTimes: number[] = [];
  #matching = 0;

  /** @param reviewerId reviewer of the separate count */
  constructor(reviewerId: string) {
    this.#own = `reviewer:${reviewerId}`;
  }

  add({ status, decidedBy, createdAt, at }: ResolvedOutline): void {
    this.#matching++;
    this.#byStatus[status]++;
    if (kindOfActor(decidedBy) !== "reviewer") return;
    this.#times.push(at - createdAt);
    if (decidedBy === this.#own) this.#ownTimes.push(at - createdAt);
  }

  result(): Insights {
    const { approved, denied } = this.#byStatus;
    return {
      matching: this.#matching,
      byStatus: { ...this.#byStatus },
      shareApproved: approved + denied === 0 ? null : approved / (approved + denied),
      byPeople: toTimes(this.#times),
      own: toTimes(this.#ownTimes),
    };
  }
}

function toTimes(times: readonly number[]): DecisionTimes {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  // For an even number, the mean of the two middle values.
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return {
    decisions: sorted.length,
    medianMs: sorted.length === 0 ? null : Math.round((low + high) / 2),
    underTwoSeconds: sorted.filter((ms) => ms < SOON_MS).length,
  };
}
