/**
 * Server processes on one PostgreSQL, whatever engine the test run is on, and callers who send
 * everything again, to one after another, until it is answered: what tests about races, crashes
 * and outages of replicas begin with.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProvisionInstanceResponse } from "@countersign/protocol";
import { type Answer, exchange } from "@countersign/testing/agents";
import { type Owner, temporaryFolder } from "@countersign/testing/child";
import { NO_RATE_LIMITS, type Server, startServer } from "@countersign/testing/countersign";
import {
  createToken,
  openContext,
  readConfig,
  type TokenOrder,
  toSecrets,
  toSettings,
} from "../../src/index.ts";
import type { Store } from "../../src/storage/store.ts";
import { createDatabase, type PostgresServer } from "./postgres.ts";

export interface ClusterOptions {
  /** One that the test may stop; without it, the server that tests share. */
  readonly database?: PostgresServer;
  /** More of the command line of each replica. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Cluster {
  readonly servers: Server[];
  /** Of the database, for a user beside the replicas. */
  readonly store: Store;
  /** A token of the project `default`. */
  token(kind: TokenOrder["kind"], role?: "reviewer" | "admin"): Promise<string>;
  /** Starts the replica at this place, in a new process. */
  start(index: number): Promise<void>;
}

/** Ends with the test. */
export async function startCluster(
  t: Owner,
  replicas: number,
  options: ClusterOptions = {},
): Promise<Cluster> {
  const url = await createDatabase(options.database);
  const key = randomBytes(32).toString("base64");
  const env = {
    ...options.env,
    COUNTERSIGN_DATABASE_URL: url,
    COUNTERSIGN_SECRET_KEY: key,
  };
  const servers: Server[] = [];
  const start = async (index: number) => {
    servers[index] = await startServer(t, {
      env,
      args: [...NO_RATE_LIMITS, ...(options.args ?? [])],
    });
  };
  await Promise.all(Array.from({ length: replicas }, (_, index) => start(index)));
  const data = join(temporaryFolder(t), "data");
  const config = readConfig({ data, database_url: url, secret_key: key }, {});
  const { context, close } = await openContext(toSettings(config), toSecrets(config));
  t.after(() => close());
  const token: Cluster["token"] = async (kind, role = "reviewer") => {
    const order = { kind, name: randomUUID(), project: "default", role } as const;
    return (await createToken(context, { ...order, expiresAt: null } as TokenOrder)).token;
  };
  return { servers, store: context.store, token, start };
}

/** Longer than any outage here. */
const TRIES_MAX = 400;

const PAUSE_MS = 25;

/**
 * Sends an exchange to one replica after another until one of them answers it.
 *
 * @param from the replica that is asked first
 */
export async function send<T>(
  { servers }: Pick<Cluster, "servers">,
  from: number,
  ...[method, path, token, body, key]: Parameters<typeof exchange>
): Promise<Answer<T>> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const server = servers[(from + tries) % servers.length] as Server;
    try {
      const answer = await exchange<T>(method, server.url + path, token, body, key);
      if (answer.status !== 503) return answer;
      assert.equal(answer.headers.get("retry-after"), "1");
    } catch (error) {
      // The process was killed: nothing was promised.
      if (!(error instanceof TypeError)) throw error;
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(`${method} ${path} was never answered`);
}

export interface ClusterInstance {
  readonly id: string;
  readonly token: string;
}

/** @param delivery its receiver, which is verified on the way */
export async function provision(
  cluster: Cluster,
  provisioner: string,
  delivery?: object,
): Promise<ClusterInstance> {
  const body = delivery === undefined ? {} : { delivery };
  const answer = await send<ProvisionInstanceResponse>(
    cluster,
    0,
    "POST",
    "/v1/instances",
    provisioner,
    body,
    randomUUID(),
  );
  assert.ok(answer.status === 201 || answer.status === 200, answer.text);
  return { id: answer.json.instance.id, token: answer.json.credential.token };
}
