/**
 * One shard and the replicas that serve it, as the plan cuts the whole into equal parts: what the
 * simulations run.
 *
 * Called by: capacity.ts.
 */

import { OPERATION_COSTS, type Operation, type OperationCost } from "./measured.ts";
import { largest, type Machines, type Plan, total } from "./model.ts";
import type { System } from "./queue.ts";

export interface Variations {
  readonly variation: number;
  readonly waitVariation: number;
}

/** @param shards that there are */
export function cellOf(
  plan: Plan,
  machines: Machines,
  shards: number,
  variations: Variations,
): System {
  const exchanges = total(plan.rates, () => 1);
  return {
    replicas: Math.max(2, Math.ceil(largest(plan.replicas).count / shards)),
    connections: machines.poolConnections,
    databaseCores: machines.shardCores,
    works: Object.entries(plan.rates).map(([operation, rate]) => ({
      share: rate / exchanges,
      ...workOf(OPERATION_COSTS[operation as Operation], machines),
    })),
    ...variations,
  };
}

function workOf({ serverUs, databaseUs, roundTrips, walBytes }: OperationCost, machines: Machines) {
  const { speed, roundTripMs, commitMs } = machines;
  return {
    serverMs: serverUs / 1000 / speed,
    databaseMs: databaseUs / 1000 / speed,
    waitMs: roundTrips * roundTripMs + (walBytes > 0 ? commitMs : 0),
  };
}

/** Of the reasons for shards, what one takes of all calls in a second before it is full. */
export function shardCapacity(plan: Plan, callsPerSecond: number): number {
  const most = Math.max(...Object.values(plan.shards));
  return callsPerSecond / most;
}
