/**
 * What is felt when something is gone: a replica whose exchanges and polls the others take over, a
 * shard that comes back to everybody who waited for it, and a shard that does not answer in a pool
 * that others share.
 *
 * Called by: capacity.ts.
 */

import { percentile } from "../../bench/statistics.ts";
import { type Latencies, Line, rateAt, type System, summarize } from "./queue.ts";
import { seeded } from "./random.ts";

export interface Second {
  /** After the loss, or the return. */
  readonly second: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

/** Gathers latencies by the second in which the exchange began. */
class BySecond {
  readonly #latencies: number[][];
  readonly #line: Line;

  constructor(line: Line, seconds: number) {
    this.#line = line;
    this.#latencies = Array.from({ length: seconds }, () => []);
  }

  exchange(): void {
    const second = Math.floor(this.#line.simulation.now / 1000);
    this.#line.exchange((latencyMs) => void this.#latencies[second]?.push(latencyMs));
  }

  get seconds(): Second[] {
    return this.#latencies.map((latencies, second) => ({
      second,
      p99Ms: percentile(latencies, 99),
      perSecond: latencies.length,
    }));
  }
}

export interface ReplicaLoss {
  readonly utilisation: number;
  /** Held by each replica. Those of the lost one come again, one read each, within a second. */
  readonly polls: number;
  readonly seconds: number;
}

/** The others from the moment on at which one is gone and nobody is sent to it any more. */
export function loseReplica(system: System, loss: ReplicaLoss, seed: number): Second[] {
  const others = { ...system, replicas: system.replicas - 1 };
  const line = new Line(others, seed);
  const bySecond = new BySecond(line, loss.seconds);
  const perMs = rateAt(system, loss.utilisation) / 1000;
  line.arrive(perMs, loss.seconds * 1000, () => bySecond.exchange());
  scatter(line, loss.polls, 1_000, seed + 1, () => bySecond.exchange());
  line.simulation.run();
  return bySecond.seconds;
}

export interface ShardReturn {
  readonly utilisation: number;
  readonly outageSeconds: number;
  /** Who got a 503 comes again within so long. */
  readonly retrySeconds: number;
  readonly seconds: number;
}

/**
 * A shard after a failover: everybody who came meanwhile comes again. Those who are refused once
 * more are not counted as coming a third time.
 */
export function returnShard(system: System, back: ShardReturn, seed: number): Second[] {
  const line = new Line(system, seed);
  const bySecond = new BySecond(line, back.seconds);
  const perMs = rateAt(system, back.utilisation) / 1000;
  line.arrive(perMs, back.seconds * 1000, () => bySecond.exchange());
  const backlog = Math.round(perMs * 1000 * back.outageSeconds);
  scatter(line, backlog, back.retrySeconds * 1000, seed + 1, () => bySecond.exchange());
  line.simulation.run();
  return bySecond.seconds;
}

function scatter(line: Line, count: number, withinMs: number, seed: number, enter: () => void) {
  const chance = seeded(seed);
  for (let i = 0; i < count; i++) line.simulation.after(chance() * withinMs, enter);
}

export interface Stall {
  readonly utilisation: number;
  /** Of all exchanges: those for the shard that does not answer. */
  readonly share: number;
  /** How long each of them keeps its connection. */
  readonly stallMs: number;
  readonly seconds: number;
}

/**
 * Exchanges for other shards, while those for one shard keep connections of the same pools.
 *
 * @returns latencies of the others, from when the stall has lasted as long as one of them is held
 */
export function stallShard(system: System, stall: Stall, seed: number): Latencies {
  const line = new Line(system, seed);
  const chance = seeded(seed + 1);
  const latencies: number[] = [];
  let refused = 0;
  const untilMs = stall.seconds * 1000;
  line.arrive(rateAt(system, stall.utilisation) / 1000, untilMs, () => {
    if (chance() < stall.share) {
      line.exchange(() => {}, stall.stallMs);
      return;
    }
    const counts = line.simulation.now > stall.stallMs;
    line.exchange((latencyMs, answered) => {
      if (!counts) return;
      latencies.push(latencyMs);
      if (!answered) refused++;
    });
  });
  line.simulation.run();
  return summarize(latencies, refused);
}
