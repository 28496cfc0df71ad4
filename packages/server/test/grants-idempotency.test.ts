import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { GRANTS, listGrants, type ReviewedGrant, revokeGrant } from "./support/grants.ts";
import { startReplicas } from "./support/replicas.ts";
import { startScene } from "./support/scene.ts";
import type { Answer, TestProvider } from "./support/test-provider.ts";

function send(
  server: TestProvider,
  token: string,
  key: string,
  body: object,
): Promise<Answer<ReviewedGrant & ErrorResponse>> {
  return server.call("POST", GRANTS, { token, key, body });
}

test("[ours.grant.idempotent] the same key and body return the same grant in its current state", async (t) => {
  const { server, instance, reviewer } = await startScene(t);
  const body = { instance_id: instance.id, tool: "deploy", calls: 3 };
  const first = await send(server, reviewer, "key", body);
  assert.equal(first.status, 201, first.text);
  const again = await send(server, reviewer, "key", {
    calls: 3,
    tool: "deploy",
    instance_id: instance.id,
  });
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal((await server.submit(instance.token)).status, "approved");
  assert.equal((await send(server, reviewer, "key", body)).json.calls, 1);
  await revokeGrant(server, reviewer, first.json.id);
  const revoked = await send(server, reviewer, "key", body);
  assert.deepEqual([revoked.status, revoked.json.state], [200, "revoked"]);
  assert.equal((await listGrants(server, reviewer)).length, 0);
});

test("[ours.grant.idempotent] the same key with another body is a conflict, and without a key or with that of another reviewer there is another grant", async (t) => {
  const { server, instance, reviewer } = await startScene(t);
  const body = { instance_id: instance.id, tool: "deploy" };
  await send(server, reviewer, "key", body);
  for (const other of [{ tool: "drop" }, { calls: 9 }, { session: "s" }, { any_session: true }]) {
    const { status, json } = await send(server, reviewer, "key", { ...body, ...other });
    assert.deepEqual([status, json.error.code], [409, "idempotency_conflict"]);
  }
  const refused = await send(server, reviewer, "k".repeat(1_025), body);
  assert.deepEqual([refused.status, refused.json.error.param], [400, "Idempotency-Key"]);
  assert.equal((await listGrants(server, reviewer)).length, 1);
  const colleague = await server.token({ kind: "reviewer", name: "Cy" });
  assert.equal((await send(server, colleague, "key", body)).status, 201);
  const without = await server.call("POST", GRANTS, { token: reviewer, body });
  assert.equal(without.status, 201);
  assert.equal((await listGrants(server, reviewer)).length, 3);
});

test("[ours.grant.idempotent] a refused grant does not use up its key", async (t) => {
  const { server, instance, reviewer } = await startScene(t);
  const wrong = { instance_id: instance.id, tool: "deploy", when: "nonsense(" };
  assert.equal((await send(server, reviewer, "key", wrong)).status, 400);
  const right = { instance_id: instance.id, tool: "deploy" };
  assert.equal((await send(server, reviewer, "key", right)).status, 201);
});

test("[ours.grant.idempotent] of the same key at three replicas at one time one grant comes", async (t) => {
  const { servers } = await startReplicas(t, 3);
  const at = (i: number) => servers[i % 3] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  const instance = await at(0).instance();
  const body = { instance_id: instance.id, tool: "deploy" };
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => send(at(i), reviewer, "key", body)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(11).fill(200), 201]);
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
  assert.equal((await listGrants(at(1), reviewer)).length, 1);
});
