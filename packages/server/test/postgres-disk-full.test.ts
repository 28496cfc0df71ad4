/**
 * Readiness on PostgreSQL whose volume is full: updates in place still succeed there.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./support/manual-clock.ts";
import { createDatabase, execute } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";

/** Refuses new rows as a full volume does: with SQLSTATE 53100, disk_full. */
const FILL = [
  `create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$`,
  "create trigger full_volume before insert on request for each row execute function refuse()",
  "create trigger full_volume before insert on health for each row execute function refuse()",
];
const EMPTY = ["drop trigger full_volume on request", "drop trigger full_volume on health"];

test("[ours.operations.disk-full] [ours.operations.health] a replica on PostgreSQL without room is not ready until rows can be added", async (t) => {
  const url = await createDatabase();
  const clock = new ManualClock();
  const { servers } = await startReplicas(t, 1, url, { clock });
  const [server] = servers as [TestProvider];
  const { token } = await server.instance();
  const ready = async () => {
    clock.advance(1_000);
    return (await server.call("GET", "/readyz")).status;
  };
  const create = async () => {
    const call = { token, key: server.freshKey(), body: SUBMISSION };
    return (await server.call("POST", "/v1/requests", call)).status;
  };
  assert.equal(await ready(), 200);

  await execute(url, ...FILL);
  assert.equal(await create(), 503);
  assert.deepEqual([await ready(), await ready()], [503, 503]);

  await execute(url, ...EMPTY);
  assert.deepEqual([await ready(), await create()], [200, 201]);
  const rows = await server.provider.context.store.all("select checked_at from health");
  assert.equal(rows.length, 1);
});
