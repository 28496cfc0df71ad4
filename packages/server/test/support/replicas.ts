/**
 * Providers that share one PostgreSQL, whatever engine the test run is on: with the clock of the
 * database, and one secret key.
 */

import { randomBytes } from "node:crypto";
import { createDatabase } from "./postgres.ts";
import { type Lifetime, startTestProvider, type TestProvider } from "./test-provider.ts";

export interface Replicas {
  /** Of the database. */
  readonly url: string;
  /** What a provider needs to be one more of them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly servers: readonly TestProvider[];
}

/** @param url of a database that is there already */
export async function startReplicas(t: Lifetime, count: number, url?: string): Promise<Replicas> {
  const place = url ?? (await createDatabase());
  const settings = {
    database_url: place,
    secret_key: randomBytes(32).toString("base64"),
    ...{ instance_rate: "0", provisioner_rate: "0", reviewer_rate: "0" },
  };
  const starts = Array.from({ length: count }, () => startTestProvider(t, { settings }));
  return { url: place, settings, servers: await Promise.all(starts) };
}
