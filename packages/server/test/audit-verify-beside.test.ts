/** `audit verify` beside a server that seals, and a prune of the log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { UNSEALED_MS_MAX } from "../src/audit/verify-log.ts";
import { verifyDatabase } from "../src/maintenance/verify-database.ts";
import { archiveAll, verifyWith } from "./support/audit-archive.ts";
import { logOf, storeOf, tamper, untilPurgedAndSealed, untilSealed } from "./support/audit-logs.ts";
import { end, type Scene, startScene } from "./support/scene.ts";

const HOUR = 3_600_000;

test("[ours.audit.requests] an old entry that is sealed during the verification is compared with its row", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  await server.submit(instance.token);
  await untilSealed(scene);
  const { id } = await server.submit(instance.token);
  const before = await logOf(scene);
  clock.advance(2 * UNSEALED_MS_MAX);
  await untilSealed(scene);
  assert.ok((await logOf(scene)).size > before.size);
  await tamper(scene, "delete from request where id = $1", id);
  const database = { reader: storeOf(scene), clock, log: async () => before };
  const { finding } = await verifyDatabase(database, { log: { project: "default" } });
  const says = `request ${id}: its row is missing, but it is pending in the log`;
  assert.equal(finding?.message, says);
});

test("[ours.audit.requests] audit verify with an archive passes a purged request while its log is pruned", async (t) => {
  const scene = await startScene(t);
  const { server, instance, clock } = scene;
  const first = await server.submit(instance.token);
  await untilSealed(scene);
  // More seals than are read at once, between the opening and the resolution.
  for (let seal = 0; seal < 6; seal++) {
    clock.advance(1);
    await end(scene, await server.submit(instance.token), "denied");
    await untilSealed(scene);
  }
  await end(scene, first, "denied");
  await untilSealed(scene);
  await untilPurgedAndSealed(scene);
  const directory = temporaryFolder(t);
  await archiveAll(scene, { directory });
  const reader = storeOf(scene);
  let pruning: Promise<unknown> | undefined;
  const database = { reader, clock, log: () => logOf(scene) };
  const { finding } = await verifyDatabase(database, {
    log: { project: "default" },
    archive: directory,
    onProgress: async () => {
      pruning ??= archiveAll(scene, { directory, prunes: true });
      await pruning;
    },
  });
  assert.ok((await logOf(scene)).pruned > 0);
  assert.equal(finding, undefined);
  await untilSealed(scene);
  assert.equal((await verifyWith(scene, directory)).finding, undefined);
});

/** Verifies with a clock that is this far behind, until the first entries are verified. */
async function verifyLong(scene: Scene, ms: number) {
  let behindMs = ms;
  const clock = { now: () => scene.clock.now() - behindMs };
  const database = { reader: storeOf(scene), clock, log: () => logOf(scene) };
  const onProgress = () => {
    behindMs = 0;
  };
  return verifyDatabase(database, { log: { project: "default" }, onProgress });
}

test("[ours.audit.verify] an entry that is written long after the start of the verification may be without a seal", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await server.submit(instance.token);
  await untilSealed(scene);
  await server.submit(instance.token);
  const { finding, logs } = await verifyLong(scene, 2 * UNSEALED_MS_MAX);
  assert.deepEqual([finding, logs[0]?.unsealed], [undefined, 1]);
});

test("[ours.audit.requests] a request may be purged during the verification", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await end(scene, await server.submit(instance.token), "denied");
  await untilSealed(scene);
  await untilPurgedAndSealed(scene);
  assert.equal((await verifyLong(scene, 24 * HOUR)).finding, undefined);
});

test("[ours.audit-archive.verify] audit verify passes an archive that is extended during the verification", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await server.submit(instance.token);
  await untilSealed(scene);
  const directory = temporaryFolder(t);
  let extending: Promise<unknown> | undefined;
  const extend = async () => {
    await server.submit(instance.token);
    await untilSealed(scene);
    await archiveAll(scene, { directory });
  };
  await archiveAll(scene, { directory });
  const database = { reader: storeOf(scene), clock: scene.clock, log: () => logOf(scene) };
  const { finding } = await verifyDatabase(database, {
    log: { project: "default" },
    archive: directory,
    onProgress: async () => {
      extending ??= extend();
      await extending;
    },
  });
  assert.ok(extending);
  assert.equal(finding, undefined);
});
