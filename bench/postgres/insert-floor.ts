/**
 * The baseline for writes on PostgreSQL: the rows of a pending request (its row and its audit
 * entry, written by the functions that the provider writes them with) in a transaction each, and
 * nothing else: no HTTP, no authentication, no parsing, no lock, no clock of the database. A child
 * process of the benchmark.
 *
 * Called with the URL of a database that a provider has migrated and provisioned an instance in.
 * Each message orders one run.
 */

import { randomBytes } from "node:crypto";
import { Pool, type PoolClient } from "pg";
import { appendAudit } from "../../packages/server/src/audit/append-audit.ts";
import { systemRandom } from "../../packages/server/src/clock.ts";
import { insertRequest } from "../../packages/server/src/storage/sql/requests/requests.ts";
import { type Outcome, summarize } from "../load-generator.ts";
import { toolCall } from "../messages.ts";
import { openedEntry, toRequest } from "../rows/call-rows.ts";
import { instanceIn, prepared } from "../rows/open-rows.ts";

export interface InsertOrder {
  readonly seconds: number;
  readonly connections: number;
  /** Whether the four statements are sent at once, and not each after the answer to the last. */
  readonly isPipelined: boolean;
}

export type InsertOutcome = Outcome;

const [url] = process.argv.slice(2);
const pools = {
  plain: new Pool({ connectionString: url, max: 100 }),
  pipelined: new Pool({ connectionString: url, max: 100, pipeline: true }),
};
const random = systemRandom();
const instance = await instanceIn(pools.plain);

async function insertAll(order: InsertOrder): Promise<InsertOutcome> {
  const pool = order.isPipelined ? pools.pipelined : pools.plain;
  const connecting = Array.from({ length: order.connections }, () => pool.connect());
  const clients = await Promise.all(connecting);
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1000;
  const repeat = async (client: PoolClient) => {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      await insertOne(client, order.isPipelined);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  await Promise.all(clients.map(repeat));
  const outcome = summarize(latenciesMs, (performance.now() - startedAt) / 1000);
  for (const client of clients) client.release();
  return outcome;
}

async function insertOne(client: PoolClient, isPipelined: boolean): Promise<void> {
  const request = toRequest(JSON.parse(toolCall(n++)), instance, random);
  const keyHash = randomBytes(24).toString("base64url");
  const statements = [
    () => client.query("begin"),
    () => insertRequest(prepared(client), request, keyHash),
    () => appendAudit(prepared(client), random, openedEntry(request)),
    () => client.query("commit"),
  ];
  if (isPipelined) await Promise.all(statements.map((send) => send()));
  else for (const send of statements) await send();
}

let n = 0;

process.on("message", async (order: InsertOrder) => {
  process.send?.(await insertAll(order));
});
process.once("disconnect", () => process.exit());
process.send?.("started");
