/**
 * A person's decision, from the submission of the call to the answer of who waits for it: the
 * provider on both engines beside durable-execution engines that do the same, in turns.
 */

import type { Options } from "../options.ts";
import { type Engine, providerEngine, runRoundTrips } from "../round-trip-client.ts";
import { startRows } from "../rows/start-rows.ts";
import { median } from "../statistics.ts";
import { startSubject } from "../subject.ts";
import { reportProgress } from "../table.ts";
import type { DatabaseServer } from "./database-server.ts";
import { installPeers, startPeers } from "./peers.ts";
import { startShared } from "./shared-subject.ts";

export interface HumanRoundTrips {
  readonly rows: readonly TripRow[];
}

export interface TripRow {
  readonly engine: string;
  readonly clients: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of all its processes for one, in microseconds. */
  readonly cpuUs: number;
  /** Round trips of the provider for each of this engine, by the provider's engine. */
  readonly against: Readonly<Record<ProviderName, readonly number[]>>;
}

const PROVIDERS = ["SQLite", "PostgreSQL"] as const;

export type ProviderName = (typeof PROVIDERS)[number];

const CLIENTS = [8, 32, 128];

const WARM_UP_S = 2;

export async function measureHumanRoundTrips(
  server: DatabaseServer,
  options: Options,
): Promise<HumanRoundTrips> {
  const engines = await startEngines(server);
  try {
    for (const engine of engines) {
      reportProgress(`postgres: round trips, ${engine.name}, warm-up`);
      await runRoundTrips(engine, 32, WARM_UP_S);
    }
    const rows: TripRow[] = [];
    for (const clients of CLIENTS) rows.push(...(await compare(engines, clients, options)));
    return { rows };
  } finally {
    for (const engine of engines) await engine.stop();
  }
}

async function startEngines(server: DatabaseServer): Promise<Engine[]> {
  const [sqlite, postgres] = PROVIDERS;
  return [
    providerEngine(sqlite, await startSubject({ connections: 1 })),
    providerEngine(
      postgres,
      await startShared(await server.createDatabase(), 1),
      server.cpuSeconds,
    ),
    providerEngine("storage-only baseline, SQLite", await startRows({ connections: 1 })),
    await startSharedRows(server),
    ...(installPeers() ? await startPeers(server) : []),
  ];
}

async function startSharedRows(server: DatabaseServer): Promise<Engine> {
  const rows = await startRows({ connections: 1, url: await server.createDatabase() });
  return providerEngine("storage-only baseline, PostgreSQL", rows, server.cpuSeconds);
}

type Turn = Pick<TripRow, "perSecond" | "p50Ms" | "p99Ms" | "cpuUs">;

async function compare(
  engines: readonly Engine[],
  clients: number,
  { rounds, seconds }: Options,
): Promise<TripRow[]> {
  const turns = new Map<string, Turn[]>(engines.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    reportProgress(`postgres: round trips, ${clients} clients, round ${round} of ${rounds}`);
    for (const engine of engines) {
      turns.get(engine.name)?.push(await takeTurn(engine, clients, seconds));
    }
  }
  return engines.map(({ name }) => {
    const own = turns.get(name) ?? [];
    const ratiosOf = (provider: ProviderName) =>
      own.map(({ perSecond }, i) => (turns.get(provider)?.[i]?.perSecond ?? 0) / perSecond);
    return {
      engine: name,
      clients,
      perSecond: median(own.map((turn) => turn.perSecond)),
      p50Ms: median(own.map((turn) => turn.p50Ms)),
      p99Ms: median(own.map((turn) => turn.p99Ms)),
      cpuUs: median(own.map((turn) => turn.cpuUs)),
      against: { SQLite: ratiosOf("SQLite"), PostgreSQL: ratiosOf("PostgreSQL") },
    };
  });
}

async function takeTurn(engine: Engine, clients: number, seconds: number): Promise<Turn> {
  const before = engine.cpuSeconds();
  const { exchanges, perSecond, p50Ms, p99Ms } = await runRoundTrips(engine, clients, seconds);
  const cpuUs = ((engine.cpuSeconds() - before) / exchanges) * 1e6;
  return { perSecond, p50Ms, p99Ms, cpuUs };
}
