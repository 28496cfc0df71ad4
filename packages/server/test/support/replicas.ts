/**
 * Providers that share one PostgreSQL, whatever engine the test run is on: with the clock of the
 * database, and one secret key.
 */

import { randomBytes } from "node:crypto";
import { createDatabase } from "./postgres.ts";
import {
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "./test-provider.ts";

export interface Replicas {
  /** Of the database. */
  readonly url: string;
  /** The settings that a provider needs to be one more of them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly servers: readonly TestProvider[];
}

/**
 * @param url of a database that is there already
 * @param options of all of them; with a clock of a test, that is theirs in place of the database's
 */
export async function startReplicas(
  t: Lifetime,
  count: number,
  url?: string,
  options: Omit<TestProviderOptions, "data"> = {},
): Promise<Replicas> {
  const place = url ?? (await createDatabase());
  const settings = {
    database_url: place,
    secret_key: randomBytes(32).toString("base64"),
    instance_rate: "0",
    provisioner_rate: "0",
    reviewer_rate: "0",
    account_submission_rate: "0",
    ...options.settings,
  };
  const all = { ...options, settings };
  const starts = Array.from({ length: count }, () => startTestProvider(t, all));
  return { url: place, settings, servers: await Promise.all(starts) };
}
