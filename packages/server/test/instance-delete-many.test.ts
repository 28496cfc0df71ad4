import assert from "node:assert/strict";
import { test } from "node:test";
import { type Scene, startScene } from "./support/scene.ts";
import { until } from "./support/until.ts";

async function statuses({ server }: Scene): Promise<Map<unknown, number>> {
  const { store } = server.provider.context;
  const rows = await store.all("select status, count(*) as count from request group by status");
  return new Map(rows.map(({ status, count }) => [status, Number(count)]));
}

/** So many at a time: more connections than this at once are a test of something else. */
const AT_ONCE = 50;

async function submitMany({ server, instance }: Scene, count: number): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) {
    const some = Array.from({ length: Math.min(left, AT_ONCE) });
    await Promise.all(some.map(() => server.submit(instance.token)));
  }
}

test("[instance.delete.pending-cancelled] more pending requests than fit one transaction are all cancelled before the 204", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await submitMany(scene, 1_100);

  const call = { token: instance.provisioner };
  const answer = await server.call("DELETE", `/v1/instances/${instance.id}`, call);

  assert.equal(answer.status, 204);
  assert.deepEqual([...(await statuses(scene))], [["cancelled", 1_100]]);
});

test("[instance.delete.pending-cancelled] an interrupted deletion is finished by the server", async (t) => {
  const scene = await startScene(t);
  await submitMany(scene, 3);
  // The state after a process died between two transactions of the deletion.
  const { store } = scene.server.provider.context;
  await store.transact((tx) => tx.run("update instance set deleted_at = $1", [scene.clock.now()]));

  scene.clock.advance(10 * 60_000);

  await until(async () => (await statuses(scene)).get("cancelled") === 3, "three cancellations");
});
