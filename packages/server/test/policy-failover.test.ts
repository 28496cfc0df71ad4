/**
 * A database that is put back to an earlier state under a running server, as by a failover to a
 * standby that had not received the last commits: what the server remembers of the lost ones must
 * not decide anything.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { freeze } from "./support/freezes.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { type Scene, startScene } from "./support/scene.ts";

const APPROVE_ALL = policyOf('{ id: all, match: { tool: "*" }, then: approve }');
const DENY_ALL = policyOf('{ id: none, match: { tool: "*" }, then: deny }');

/** @returns puts the versions and stamps back to what they are now */
async function snapshot({ server }: Scene): Promise<() => Promise<void>> {
  const { store } = server.provider.context;
  const [last] = await store.all("select max(number) as number from policy_version");
  const stamps = await store.all("select project_id, stamp from active_state_stamp");
  return () =>
    store.transact(async (tx) => {
      await tx.run("delete from policy_version where number > $1", [last?.number ?? null]);
      for (const { project_id: projectId = null, stamp = null } of stamps) {
        const sql = "update active_state_stamp set stamp = $2 where project_id = $1";
        await tx.run(sql, [projectId, stamp]);
      }
    });
}

async function statusNow({ server, instance }: Scene): Promise<string> {
  return (await server.submit(instance.token)).status;
}

async function startApproving(t: TestContext): Promise<Scene> {
  const scene = await startScene(t);
  await enforce(scene.server, APPROVE_ALL);
  assert.equal(await statusNow(scene), "approved");
  return scene;
}

test("[ours.freeze.new] a freeze denies also when a server remembers a change that the database has lost", async (t) => {
  const scene = await startApproving(t);
  const { server, clock, reviewer } = scene;
  const putBack = await snapshot(scene);
  await enforce(server, APPROVE_ALL);
  assert.equal(await statusNow(scene), "approved");
  await putBack();
  clock.advance(2_000);
  const { status } = await freeze(server, reviewer, { scope: "project" });
  assert.equal(status, 201);
  assert.equal(await statusNow(scene), "denied");
});

test("[ours.policy.publish.pending] a policy that was lost with its commit judges nothing once another is published", async (t) => {
  const scene = await startApproving(t);
  const { server, clock } = scene;
  await enforce(server, DENY_ALL);
  const putBack = await snapshot(scene);
  await enforce(server, APPROVE_ALL);
  assert.equal(await statusNow(scene), "approved");
  await putBack();
  clock.advance(2_000);
  await enforce(server, DENY_ALL);
  assert.equal(await statusNow(scene), "denied");
});
