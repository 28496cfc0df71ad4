/**
 * From calls in a second and instances to machines: a calculation from measured costs, and
 * simulations of what a calculation cannot say.
 *
 *   node tools/capacity/capacity.ts --calls-per-second 100000 --instances 10000000
 *
 * `--help` names every assumption; docs/guides/scale.md says what the model does not know.
 */

import { cellOf, shardCapacity } from "./cell.ts";
import { loseReplica, returnShard, type Second, stallShard } from "./loss.ts";
import { largest, plan } from "./model.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { print } from "./print.ts";
import { latenciesAt, type System } from "./queue.ts";
import { outgrownAt, shardsFor, unevenness } from "./shards.ts";

const UTILISATIONS = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
const PLACEMENTS = 200;
const LOSS_S = 10;

/** A statement is given up after so long. @see storage/postgres/connections.ts */
const STATEMENT_MS_MAX = 10_000;

export type Results = ReturnType<typeof compute>;

export function compute(options: Options) {
  const { demand, machines, population, exchanges, seed } = options;
  const planned = plan(demand, machines);
  const shards = largest(planned.shards).count;
  const capacity = shardCapacity(planned, demand.callsPerSecond);
  const cell = cellOf(planned, machines, shards, options.variations);
  const { utilisation } = machines;
  const polls = planned.pollsHeld / shards / cell.replicas;
  return {
    plan: planned,
    cell,
    latencies: UTILISATIONS.map((used) => ({
      utilisation: used,
      ...latenciesAt(cell, used, exchanges, seed),
    })),
    shards: {
      ...unevenness(population, shards, PLACEMENTS, seed),
      capacity,
      outgrownAt: outgrownAt(population, capacity),
      needed: shardsFor(population, demand.callsPerSecond, capacity, seed),
    },
    replicaLoss: loseReplica(cell, { utilisation, polls, seconds: LOSS_S }, seed),
    shardReturn: simulateReturn(options, cell),
    // Of a single shard there are no others.
    stalls: shards === 1 ? [] : simulateStalls(options, cell, shards),
  };
}

/** With pools of the usual size, and with five times as many connections. */
function simulateStalls({ machines, seed }: Options, cell: System, shards: number) {
  const { utilisation } = machines;
  const stall = { utilisation, share: 1 / shards, stallMs: STATEMENT_MS_MAX, seconds: 25 };
  return [cell.connections, cell.connections * 5].map((connections) => ({
    connections,
    ...stallShard({ ...cell, connections }, stall, seed),
  }));
}

function simulateReturn(
  { machines, failoverSeconds, retrySeconds, seed }: Options,
  cell: System,
): Second[] {
  const { utilisation } = machines;
  const back = { utilisation, outageSeconds: failoverSeconds, retrySeconds, seconds: 60 };
  return returnShard(cell, back, seed);
}

if (import.meta.main) {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === undefined) console.log(usage());
    else if (options.json) console.log(JSON.stringify(compute(options), undefined, 2));
    else print(options, compute(options));
  } catch (error) {
    console.error(`capacity: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
