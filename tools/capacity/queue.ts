/**
 * Exchanges on their way through replicas and one database: how long they take at a given
 * utilisation. An exchange arrives by chance (Poisson), takes the one core of its replica, one of
 * its connections, for messages, a core of the database and the commit, and the core of the replica
 * once more for the answer.
 *
 * Called by: capacity.ts, loss.ts.
 */

import { percentile } from "../../bench/statistics.ts";
import { type Chance, exponential, logNormal, seeded } from "./random.ts";
import { Places, Simulation } from "./simulation.ts";

/** One kind of exchange, in ms on average. */
export interface Work {
  /** Of all exchanges. */
  readonly share: number;
  readonly serverMs: number;
  readonly databaseMs: number;
  /** Messages and the commit: waiting that takes nobody's core. */
  readonly waitMs: number;
}

export interface System {
  readonly replicas: number;
  /** For each replica. */
  readonly connections: number;
  readonly databaseCores: number;
  readonly works: readonly Work[];
  /** Standard deviation of service times over their mean. */
  readonly variation: number;
  /** The same of messages and commits. */
  readonly waitVariation: number;
}

/** Of one exchange, over all kinds of them. */
export function meanOf({ works }: System, time: (work: Work) => number): number {
  return works.reduce((sum, work) => sum + work.share * time(work), 0);
}

export interface Latencies {
  readonly exchanges: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Of all: those that found no connection in time. */
  readonly refused: number;
}

/** How long a server waits for a free connection. @see storage/postgres/connections.ts */
const PATIENCE_MS = 5_000;

/** The places that an exchange goes through. */
export class Line {
  readonly simulation = new Simulation();
  readonly #system: System;
  readonly #chance: Chance;
  readonly #servers: readonly Places[];
  readonly #pools: readonly Places[];
  readonly #database: Places;

  constructor(system: System, seed: number) {
    this.#system = system;
    this.#chance = seeded(seed);
    const each = (count: number, patienceMs?: number) =>
      Array.from({ length: system.replicas }, () => new Places(this.simulation, count, patienceMs));
    this.#servers = each(1);
    this.#pools = each(system.connections, PATIENCE_MS);
    this.#database = new Places(this.simulation, system.databaseCores);
  }

  /**
   * Plans arrivals by chance.
   *
   * @param perMs of all replicas together
   * @param enter what each does when it arrives
   */
  arrive(perMs: number, untilMs: number, enter: () => void): void {
    const next = exponential(this.#chance, 1 / perMs);
    if (this.simulation.now + next > untilMs) return;
    this.simulation.after(next, () => {
      this.arrive(perMs, untilMs, enter);
      enter();
    });
  }

  /** @param stallMs how long it keeps its connection when the database does not answer it */
  exchange(done: (latencyMs: number, answered: boolean) => void, stallMs?: number): void {
    const { simulation } = this;
    const { variation, waitVariation } = this.#system;
    const { serverMs, databaseMs, waitMs } = this.#chooseWork();
    const startedAt = simulation.now;
    const replica = Math.floor(this.#chance() * this.#servers.length);
    const [server, pool] = [this.#servers[replica], this.#pools[replica]] as [Places, Places];
    const half = () => logNormal(this.#chance, serverMs / 2, variation);
    const finish = (answered: boolean) =>
      server.serve(half(), () => done(simulation.now - startedAt, answered));
    const give = (answered: boolean) => {
      pool.giveBack();
      finish(answered);
    };
    const query = () => {
      if (stallMs !== undefined) return simulation.after(stallMs, () => give(false));
      simulation.after(logNormal(this.#chance, waitMs, waitVariation), () =>
        this.#database.serve(logNormal(this.#chance, databaseMs, variation), () => give(true)),
      );
    };
    server.serve(half(), () => pool.take(query, () => finish(false)));
  }

  #chooseWork(): Work {
    let left = this.#chance();
    const chosen = this.#system.works.find(({ share }) => {
      left -= share;
      return left < 0;
    });
    return chosen ?? (this.#system.works.at(-1) as Work);
  }
}

/** Exchanges in a second at which the fuller of replicas and database is used so much. */
export function rateAt(system: System, utilisation: number): number {
  const byServers = (system.replicas / meanOf(system, ({ serverMs }) => serverMs)) * 1000;
  const byDatabase = (system.databaseCores / meanOf(system, ({ databaseMs }) => databaseMs)) * 1000;
  return Math.min(byServers, byDatabase) * utilisation;
}

const WARM_UP = 0.1;

/** @param exchanges how many to send, the first tenth of which is not counted */
export function latenciesAt(
  system: System,
  utilisation: number,
  exchanges: number,
  seed: number,
): Latencies {
  const perMs = rateAt(system, utilisation) / 1000;
  const untilMs = exchanges / perMs;
  const line = new Line(system, seed);
  const latencies: number[] = [];
  let refused = 0;
  line.arrive(perMs, untilMs, () => {
    const counts = line.simulation.now > untilMs * WARM_UP;
    line.exchange((latencyMs, answered) => {
      if (!counts) return;
      latencies.push(latencyMs);
      if (!answered) refused++;
    });
  });
  line.simulation.run();
  return summarize(latencies, refused);
}

export function summarize(latencies: readonly number[], refused: number): Latencies {
  return {
    exchanges: latencies.length,
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
    p999Ms: percentile(latencies, 99.9),
    refused: latencies.length === 0 ? 0 : refused / latencies.length,
  };
}
