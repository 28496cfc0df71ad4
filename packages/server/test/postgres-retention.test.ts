/** Replicas that purge old requests at the same time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { purgeExpired } from "../src/operations/operate/purgeExpired.ts";
import { projectId } from "./support/audit-logs.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { startReplicas } from "./support/replicas.ts";
import type { TestProvider } from "./support/test-provider.ts";

const REPLICAS = 3;
const REQUESTS = 60;

test("[ours.retention.erased] replicas that purge at the same time count each request once", async (t) => {
  // Its clock does not advance, so that no worker purges anything.
  const { servers } = await startReplicas(t, REPLICAS, undefined, { clock: new ManualClock() });
  const [server] = servers as readonly [TestProvider];
  const instance = await server.instance();
  for (let n = 0; n < REQUESTS; n++) await server.submit(instance.token);
  const path = `/v1/instances/${instance.id}`;
  assert.equal((await server.call("DELETE", path, { token: instance.provisioner })).status, 204);
  const { store } = server.provider.context;
  const projects = [await projectId(store)];
  const purges = servers.map(({ provider: { context } }) => {
    const settings = { ...context.settings, retentionMs: 0 };
    return purgeExpired({ ...context, settings }, projects);
  });
  const counts = (await Promise.all(purges)).map(({ purged, failures }) => {
    assert.deepEqual(failures, []);
    return purged;
  });
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    REQUESTS,
  );
  const erased = await store.all("select detail from audit_entry where kind = 'rows.erased'");
  const recorded = erased.map(({ detail }) => Number(JSON.parse(String(detail)).requests));
  assert.equal(
    recorded.reduce((sum, count) => sum + count, 0),
    REQUESTS,
  );
  assert.equal(await store.get("select id from request"), undefined);
});
