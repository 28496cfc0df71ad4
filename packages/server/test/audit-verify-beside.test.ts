/** `audit verify` beside a server that seals, and a prune of the log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { UNSEALED_MS_MAX } from "../src/audit/verify-log.ts";
import { verifyDatabase } from "../src/maintenance/verify-database.ts";
import { archiveAll, verifyWith } from "./support/audit-archive.ts";
import { logOf, storeOf, tamper, untilPurgedAndSealed, untilSealed } from "./support/audit-logs.ts";
import { end, startScene } from "./support/scene.ts";

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
  const database = { reader: storeOf(scene), now: clock.now(), log: async () => before };
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
  const database = { reader, now: clock.now(), log: () => logOf(scene) };
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
