// Needs: redis-server

/** The store in a real Redis, with both clients. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Duration } from "@countersign/sdk";
import { RedisStore } from "@countersign/sdk/redis-store";
import { fileOwner } from "@countersign/testing/child";
import { createClient } from "@redis/client";
import { startRedis } from "./support/redis.ts";
import { subjectOf, testProcesses, testStore } from "./support/store-tests.ts";

const EIGHT_DAYS_MS = 8 * 24 * 3_600_000;

// The clients close before the server stops.
const owner = fileOwner();
const redis = startRedis(fileOwner());

for (const kind of ["ioredis", "node-redis"] as const) {
  testStore(
    kind,
    subjectOf(owner, kind, () => redis),
  );
}
testProcesses("ioredis", () => redis);

async function connect() {
  const client = createClient({ url: await redis });
  await client.connect();
  owner.after(() => client.close());
  return client;
}

test("[ours.sdk.store] redis: records and results expire after eight days", async () => {
  const client = await connect();
  const command = (args: readonly string[]) => client.sendCommand([...args]);
  const store = new RedisStore({ command }, { prefix: "expiry:" });
  await store.consume("id");
  await store.saveResult("id", "result");
  const keys = await client.keys("expiry:*");
  assert.equal(keys.length, 2);
  for (const key of keys) {
    const leftMs = await client.pTTL(key);
    assert.ok(leftMs > EIGHT_DAYS_MS - 60_000 && leftMs <= EIGHT_DAYS_MS, `${key}: ${leftMs}`);
  }
});

test("[ours.sdk.store] redis: an unknown reply rejects", async () => {
  for (const reply of ["QUEUED", Buffer.from("OK"), undefined, 1]) {
    const store = new RedisStore({ command: async () => reply });
    await assert.rejects(store.consume("id"), /Redis returned \w+ instead of .+ to SET\./);
  }
  for (const reply of [Buffer.from("text"), undefined, 1]) {
    const store = new RedisStore({ command: async () => reply });
    await assert.rejects(store.has("id"), /Redis returned \w+ instead of .+ to GET\./);
  }
});

test("[ours.sdk.store] redis: a lost reply of a successful SET rejects, and the id is consumed", async () => {
  const client = await connect();
  const store = new RedisStore({
    async command(args) {
      await client.sendCommand([...args]);
      throw new Error("connection lost");
    },
  });
  await assert.rejects(store.consume("lost"), /connection lost/);
  const command = (args: readonly string[]) => client.sendCommand([...args]);
  assert.equal(await new RedisStore({ command }).consume("lost"), false);
});

test("[ours.sdk.store] redis: a retention below eight days returns invalid_option", () => {
  const connection = { command: async () => "OK" };
  for (const retention of ["0s", "191h", "691199999ms", "240.5h", 691_200_000] as Duration[]) {
    const expected = { code: "invalid_option", message: /Invalid retention/ };
    assert.throws(() => new RedisStore(connection, { retention }), expected);
  }
  assert.ok(new RedisStore(connection, { retention: "192h" }));
  assert.throws(() => new RedisStore({} as typeof connection), { code: "invalid_option" });
});
