/** Opens each store that records can be shared through, by the name of its kind and its address. */

import { DatabaseSync } from "node:sqlite";
import type { ConsumptionStore } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { ioredis, nodeRedis, RedisStore } from "@countersign/sdk/redis-store";
import { postgres, SqlStore, sqlite } from "@countersign/sdk/sql-store";
import { createClient } from "@redis/client";
import { Redis } from "ioredis";
import { Pool } from "pg";

export type StoreKind = "file" | "ioredis" | "node-redis" | "postgres" | "sqlite";

export interface OpenStore {
  readonly store: ConsumptionStore;
  /** Closes the connection. Later calls of the store fail. */
  close(): Promise<void>;
}

/** Tests close a database right after a call. */
const NO_LOG = { onPruneError: () => {} };

/** @param address a folder, a file or a URL */
export async function openStore(kind: StoreKind, address: string): Promise<OpenStore> {
  if (kind === "file") return { store: new FileStore(address), close: async () => {} };
  if (kind === "sqlite") {
    const database = new DatabaseSync(address, { timeout: 10_000 });
    return { store: new SqlStore(sqlite(database), NO_LOG), close: async () => database.close() };
  }
  if (kind === "postgres") {
    const pool = new Pool({ connectionString: address });
    return { store: new SqlStore(postgres(pool), NO_LOG), close: () => pool.end() };
  }
  if (kind === "ioredis") {
    const client = new Redis(address);
    return { store: new RedisStore(ioredis(client)), close: async () => client.disconnect() };
  }
  const client = createClient({ url: address });
  await client.connect();
  return { store: new RedisStore(nodeRedis(client)), close: () => client.close() };
}
