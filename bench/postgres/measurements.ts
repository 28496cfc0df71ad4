/**
 * All that is measured on PostgreSQL, on one server that the benchmark starts.
 */

import type { Growth } from "../growth.ts";
import { measureRates, type OpenLoop } from "../open-loop.ts";
import type { Options } from "../options.ts";
import { policyOfManyRules } from "../policy.ts";
import { type Creates, measureCreates } from "./creates.ts";
import { type DatabaseServer, startDatabaseServer } from "./database-server.ts";
import { measureSharedGrowth } from "./grown-store.ts";
import { type HumanRoundTrips, measureHumanRoundTrips } from "./human-round-trips.ts";
import { compareReplicas, type Replicas, type ReplicaWakes, timeReplicaWakes } from "./replicas.ts";
import { startShared } from "./shared-subject.ts";

export interface PostgresResults {
  readonly version: string;
  readonly settings: readonly string[];
  readonly creates?: Creates;
  readonly roundTrips?: HumanRoundTrips;
  readonly replicas?: Replicas;
  readonly wakes?: ReplicaWakes;
  readonly growth?: Growth;
  readonly openLoop?: readonly OpenLoop[];
}

/** Per second; other systems publish latencies at these rates. */
const RATES = [100, 500, 1_000];

/** @returns undefined when none of it was asked for */
export async function measurePostgres(options: Options): Promise<PostgresResults | undefined> {
  const { only } = options;
  if (!only.some((section) => section.startsWith("postgres-"))) return undefined;
  const wants = (section: Options["only"][number]) => only.includes(section);
  const server = await startDatabaseServer();
  try {
    const { version, settings } = server;
    return {
      version,
      settings,
      ...(wants("postgres-create") && { creates: await measureCreates(server, options) }),
      ...(wants("postgres-round-trip") && {
        roundTrips: await measureHumanRoundTrips(server, options),
      }),
      ...(wants("postgres-replicas") && { replicas: await compareReplicas(server, options) }),
      ...(wants("postgres-wake") && { wakes: await timeReplicaWakes(server, options) }),
      ...(wants("postgres-open-loop") && { openLoop: await measureShared(server, options) }),
      ...(wants("postgres-growth") && { growth: await measureSharedGrowth(server, options) }),
    };
  } finally {
    await server.stop();
  }
}

async function measureShared(server: DatabaseServer, options: Options): Promise<OpenLoop[]> {
  const policy = policyOfManyRules();
  const start = async () =>
    startShared(await server.createDatabase(), options.connections, { policy });
  return measureRates(RATES, start, options);
}
