import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Instance, ProvisionInstanceResponse } from "@countersign/protocol";
import { advanceUntil } from "./support/advance.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import {
  type Answer,
  SUBMISSION,
  startTestProvider,
  type TestProvider,
} from "./support/test-provider.ts";

const HOUR = 3_600_000;

/** The minimum that the contract requires. */
const RETENTION = 168 * HOUR;

/** The retention worker runs this often, and so is never later than twice that. */
const ROUND = 5 * 60_000;

async function start(t: TestContext): Promise<{
  readonly server: TestProvider;
  readonly clock: ManualClock;
  readonly provisioner: string;
}> {
  const clock = new ManualClock();
  const server = await startTestProvider(t, { clock });
  return { server, clock, provisioner: await server.token({ kind: "provisioner" }) };
}

/** How many rows of a table speak of an instance. */
async function countRows(server: TestProvider, table: string, id: string): Promise<number> {
  const columns: Record<string, string> = { instance: "id", credential: "holder_id" };
  const column = columns[table] ?? "instance_id";
  const sql = `select count(*) as n from ${table} where ${column} = $1`;
  return Number((await server.provider.context.store.get(sql, [id]))?.n);
}

function purgedFrom(server: TestProvider, table: string, id: string): () => Promise<boolean> {
  return async () => (await countRows(server, table, id)) === 0;
}

function provision(
  server: TestProvider,
  token: string,
): Promise<Answer<ProvisionInstanceResponse>> {
  const call = { token, key: "the key", body: {} };
  return server.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
}

test("[instance.provision.retention] key and result are kept for 168 hours from the creation, also after replays", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const first = await provision(server, provisioner);
  const { id } = first.json.instance;
  for (const ms of [RETENTION / 2, RETENTION / 2 - ROUND, ROUND - 1]) {
    clock.advance(ms);
    const again = await provision(server, provisioner);
    assert.equal(again.status, 200);
    assert.deepEqual(again.json, first.json);
  }
  await advanceUntil(clock, ROUND, 2, purgedFrom(server, "idempotency", id));
  const renewed = await provision(server, provisioner);
  assert.equal(renewed.status, 201);
  assert.notEqual(renewed.json.instance.id, id);
});

test("[ours.retention.credential-erased] the sealed copy of a credential is purged 168 hours after the provisioning, and the credential still works", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const { json } = await provision(server, provisioner);
  const sql = "select count(*) as n from idempotency where encrypted_credential is not null";
  const countSealed = async () => Number((await server.provider.context.store.get(sql))?.n);
  clock.advance(RETENTION - 1);
  assert.equal(await countSealed(), 1);
  await advanceUntil(clock, ROUND, 2, async () => (await countSealed()) === 0);
  await server.submit(json.credential.token);
});

test("[instance.update.retention] key and result are kept for 168 hours from the update, also after replays", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const { instance } = await server.provision(provisioner);
  clock.advance(10 * HOUR);
  const update = async (name: string, key: string): Promise<string> => {
    const call = { token: provisioner, key, body: { instance_name: name } };
    const answer = await server.call<Instance>("PATCH", `/v1/instances/${instance.id}`, call);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.name;
  };
  await update("first", "the key");
  clock.advance(HOUR);
  await update("second", "another key");
  for (const ms of [RETENTION / 2 - HOUR, RETENTION / 2 - 1]) {
    clock.advance(ms);
    assert.equal(await update("first", "the key"), "first");
  }
  const { store } = server.provider.context;
  const countKeys = async () =>
    Number((await store.get("select count(*) as n from idempotency"))?.n);
  // That of the provisioning went before; that of the second update is an hour younger.
  await advanceUntil(clock, ROUND, 2, async () => (await countKeys()) === 1);
  const read = await server.call<Instance>("GET", `/v1/instances/${instance.id}`, {
    token: provisioner,
  });
  assert.equal(read.json.name, "second");
  assert.equal(await update("anew", "the key"), "anew");
});

test("[instance.delete.record-retention] the deletion record is kept for 168 hours from the deletion, also after repeated deletions", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const { instance } = await server.provision(provisioner);
  clock.advance(100 * HOUR);
  const path = `/v1/instances/${instance.id}`;
  const remove = () => server.call("DELETE", path, { token: provisioner });
  assert.equal((await remove()).status, 204);
  for (const ms of [RETENTION / 2, RETENTION / 2 - 1]) {
    clock.advance(ms);
    assert.equal((await remove()).status, 204);
  }
  await advanceUntil(clock, ROUND, 2, purgedFrom(server, "instance", instance.id));
  assertRefused(await remove(), 404, "not_found");
});

test("[ours.retention.erased] the worker purges requests, keys, results, credentials and deletion records after their time", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const { json } = await provision(server, provisioner);
  const { id } = json.instance;
  const call = { token: json.credential.token, key: "the key", body: SUBMISSION };
  await server.call("POST", "/v1/requests", call);
  await server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
  for (const table of ["request", "idempotency", "instance", "credential"]) {
    assert.equal(await countRows(server, table, id), 1, table);
  }
  clock.advance(RETENTION - 1);
  assertRefused(await provision(server, provisioner), 409, "instance_deleted");
  await advanceUntil(clock, ROUND, 2, purgedFrom(server, "instance", id));
  for (const table of ["request", "idempotency", "credential"]) {
    assert.equal(await countRows(server, table, id), 0, table);
  }
  const revoked = await server.call("POST", "/v1/requests", call);
  assertRefused(revoked, 401, "invalid_credential");
});

test("[ours.retention.erased] active instances, their credentials and pending requests are never purged", async (t) => {
  const clock = new ManualClock();
  const server = await startTestProvider(t, { clock, settings: { window_max: "9000h" } });
  const provisioner = await server.token({ kind: "provisioner" });
  const { json } = await provision(server, provisioner);
  const { id } = json.instance;
  const request = await server.submit(json.credential.token, { timeout: "9000h" });
  clock.advance(20 * RETENTION);
  await advanceUntil(clock, ROUND, 2, purgedFrom(server, "idempotency", id));
  const path = `/v1/instances/${id}`;
  const read = await server.call<Instance>("GET", path, { token: provisioner });
  assert.deepEqual(read.json, json.instance);
  assert.deepEqual(await server.read(json.credential.token, request.id), request);
});

test("[ours.retention.erased] more than one round of purges is worked off without waiting for the next", async (t) => {
  const { server, clock, provisioner } = await start(t);
  const { instance } = await server.provision(provisioner);
  const { store } = server.provider.context;
  await store.transact(async (tx) => {
    const createdAt = await tx.now();
    for (let i = 0; i < 1100; i++) {
      await tx.run(
        `insert into idempotency
           (project_id, scope, key_hash, fingerprint, instance_id, result, created_at)
         select project_id, 'update', $1, '', id, '""', $3 from instance where id = $2`,
        [String(i), instance.id, createdAt],
      );
    }
  });
  clock.advance(RETENTION);
  await advanceUntil(clock, 20, 500, purgedFrom(server, "idempotency", instance.id));
});
