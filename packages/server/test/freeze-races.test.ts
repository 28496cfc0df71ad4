/**
 * A freeze against all who could let a call run at the same moment.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { countByStatus, freeze, lift } from "./support/freezes.ts";
import { startScene } from "./support/scene.ts";
import { turns } from "./support/until.ts";

const scene = await startScene({ after });
const { server, reviewer } = scene;

test("[ours.freeze.race] of approvals and submissions beside a freeze nothing is approved or pending after its answer", async () => {
  const outcomes = new Set<string>();
  const late = fc.array(fc.nat(30), { minLength: 9, maxLength: 9 });
  const scopes = fc.constantFrom("instance", "project");
  const property = fc.asyncProperty(scopes, late, async (scope, delays) => {
    const instance = await server.instance();
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push((await server.submit(instance.token)).id);
    const body = { scope, ...(scope === "instance" && { instance_id: instance.id }) };
    const frozen = turns(delays[8] ?? 0).then(async () => {
      const { json } = await freeze(server, reviewer, body);
      return { id: json.id, counts: await countByStatus(server, instance.id) };
    });
    const approvals = ids.map(async (id, i) => {
      await turns(delays[i] ?? 0);
      const { status } = await server.decide(reviewer, id, "approve");
      assert.ok(status === 200 || status === 409);
      outcomes.add(`approve ${status}`);
    });
    const submissions = [4, 5, 6, 7].map(async (i) => {
      await turns(delays[i] ?? 0);
      outcomes.add(`submit ${(await server.submit(instance.token)).status}`);
    });
    await Promise.all([...approvals, ...submissions]);
    const { id, counts } = await frozen;
    const { approved = 0, denied } = await countByStatus(server, instance.id);
    assert.equal(counts.pending, undefined, "nothing is pending after the answer");
    assert.equal(counts.approved ?? 0, approved, "nothing was approved after the answer");
    assert.equal(denied, 8 - approved);
    await lift(server, reviewer, id);
  });
  await fc.assert(property, { numRuns: 30, endOnFailure: true });
  assert.deepEqual([...outcomes].sort(), [
    "approve 200",
    "approve 409",
    "submit denied",
    "submit pending",
  ]);
});
